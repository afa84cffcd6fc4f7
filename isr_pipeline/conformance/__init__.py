"""What was recorded of real brokers, and how the simulator compares."""
