"""Causes: whether `blame` and `why` name what was planted."""
