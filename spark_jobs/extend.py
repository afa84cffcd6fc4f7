"""Simulate a stage of further scenarios; the job stands in the package."""

import sys

from isr_pipeline.night.spark.extend import main

if __name__ == "__main__":
    sys.exit(main())
