"""A night: claimed, begun, run, finished, shown, accepted, pruned; and the machine it runs on."""
