"""``python -m benchmarks.digest [N]``: one digest over the outcomes of the reference panel.

Run it before and after a change that must not change results: a move, a rename, a faster way.
It prints the number of pairs and a digest over outcomes and events of the first N scenarios (10).
"""

from __future__ import annotations

import argparse
import hashlib
import json

from benchmarks import reference
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.worlds.columns import METRICS
from isr_pipeline.worlds.reuse import Simulations, reuse_order

TOLD = (*METRICS, "simulated_ms", "failed")
"""What an outcome is; ``kernel_events`` says how the kernel came to it."""


def digest(scenarios: int) -> tuple[int, str]:
    """Run the first scenarios under every configuration.

    Returns:
        Number of pairs, and 24 hexadecimal digits over their outcomes and events.
    """
    found, pairs = hashlib.sha256(), 0
    configurations = reference.configurations()
    for row in reference.scenarios()[:scenarios]:
        scenario = scenario_from_json(row.scenario_json)
        runs = Simulations()
        for configured in sorted(
            (apply(scenario, one.overrides) for one in configurations), key=reuse_order
        ):
            outcome, events = runs.result_for(configured)
            kept = {name: outcome[name] for name in TOLD}
            found.update(json.dumps(kept, sort_keys=True, default=str).encode())
            found.update(json.dumps(events.named(), default=str).encode())
            pairs += 1
    return pairs, found.hexdigest()[:24]


def main() -> None:
    """Print the digest."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digest", description=__doc__)
    parser.add_argument("scenarios", nargs="?", type=int, default=10, help="how many (default 10)")
    print(*digest(parser.parse_args().scenarios))


if __name__ == "__main__":
    main()
