"""Spark: the jobs of a night (argparse -> frozen config -> run), their session, workers, Java."""
