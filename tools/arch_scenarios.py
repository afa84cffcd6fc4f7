"""Print what the scenarios of the library give: a name and the SHA-256 of outcome and events each.

Run on two processors by ``make arch-test``, which compares the lines.
"""

import hashlib
import json
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from isr_pipeline.scenarios.loading import load_scenario  # noqa: E402 - the line above leads there
from isr_pipeline.worlds.run import run  # noqa: E402


def main() -> int:
    """Run all of them."""
    sys.stderr.write(f"on {platform.machine()}, Python {platform.python_version()}\n")
    for file in sorted((ROOT / "isr_pipeline" / "scenarios" / "library").glob("*.yaml")):
        done = run(load_scenario(file), events=True)
        told = {"outcome": done.outcome, "events": done.events}
        text = json.dumps(told, sort_keys=True, allow_nan=False)
        sys.stdout.write(f"{file.stem} {hashlib.sha256(text.encode()).hexdigest()}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
