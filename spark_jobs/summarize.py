"""Summarize the night's outcomes; the job stands in the package."""

import sys

from isr_pipeline.jobs.summarize import main

if __name__ == "__main__":
    sys.exit(main())
