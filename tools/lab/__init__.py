"""Real brokers on this machine: fetched, started, ended, recorded."""
