"""Kernels of other days: their sources kept, read from git, and run in a process of their own."""
