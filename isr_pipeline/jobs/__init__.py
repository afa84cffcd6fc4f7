"""The Spark jobs of a night: argparse -> frozen config -> run(spark, config)."""
