"""Exact ways to simulate less: nothing here decides an outcome."""
