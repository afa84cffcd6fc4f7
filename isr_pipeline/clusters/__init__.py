"""Real clusters: what operators have of theirs, read into a cluster file."""
