"""Simulate scenarios x configurations; the job stands in the package."""

import sys

from isr_pipeline.night.spark.simulate import main

if __name__ == "__main__":
    sys.exit(main())
