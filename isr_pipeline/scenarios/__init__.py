"""Fault scenarios: the file format, the generator, and their way into the kernel."""
