"""Public reports about ISRs, rebuilt as scenarios: what Kafka does, beside what is simulated."""
