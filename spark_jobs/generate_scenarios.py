"""Draw the night's panels; the job stands in the package."""

import sys

from isr_pipeline.jobs.generate_scenarios import main

if __name__ == "__main__":
    sys.exit(main())
