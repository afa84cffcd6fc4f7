"""The contest: how well planted regressions are found on the real simulator, and by whom else."""
