"""Real brokers: what was recorded of them, and how the simulator compares."""
