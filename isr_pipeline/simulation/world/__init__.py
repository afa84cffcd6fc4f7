"""The world of one simulation: the layout of its array, its event queue, its logs, its start."""
