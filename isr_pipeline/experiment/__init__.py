"""The experiment file, its configurations, and the night."""
