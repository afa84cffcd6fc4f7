"""How often the intervals of verdicts hold the truth: `python -m benchmarks.coverage`."""
