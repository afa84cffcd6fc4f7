"""A scenario in the kernel: laid out as cells, simulated, read back as outcome and events."""
