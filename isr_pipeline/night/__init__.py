"""A night's life: claimed, begun, run and watched, finished, shown, accepted, pruned."""
