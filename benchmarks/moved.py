"""``python -m benchmarks.moved``: what a change of the rules moves on the reference panel.

``--keep FILE`` writes every pair's outcome. ``--since FILE`` says how many pairs differ from that
file, and shows what a configuration's metrics were and are. So it is run before and after.
results/moved.csv has what the rules of 2026-11-26 moved; published figures older than that day hold
for the rules before it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reference
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.worlds.columns import MAIN
from isr_pipeline.worlds.reuse import Simulations, reuse_order

_HOW = "kernel_events"


def outcomes(scenarios: int) -> dict[str, dict[str, Any]]:
    """Outcome of each pair of the first scenarios, by ``scenario configuration``."""
    found = {}
    for row in reference.scenarios()[:scenarios]:
        scenario = scenario_from_json(row.scenario_json)
        runs = Simulations()
        pairs = [(one.name, apply(scenario, one.overrides)) for one in reference.configurations()]
        for name, configured in sorted(pairs, key=lambda pair: reuse_order(pair[1])):
            outcome, _ = runs.result_for(configured)
            kept = {key: value for key, value in outcome.items() if key != _HOW}
            found[f"{row.scenario_id} {name}"] = kept
    return found


def told(before: dict[str, Any], now: dict[str, Any], shown: list[str]) -> list[str]:
    """How many pairs differ, and what configurations were and are in the mean."""
    both = [pair for pair in now if pair in before]
    differ = sum(before[pair] != now[pair] for pair in both)
    lines = [f"{differ} of {len(both)} pairs differ"]
    for name in shown:
        pairs = [pair for pair in both if pair.split(" ")[1] == name]
        for metric in MAIN:
            was, is_ = (
                float(np.mean([one[pair].get(metric) or 0.0 for pair in pairs]))
                for one in (before, now)
            )
            if was != is_:
                lines.append(f"{name}: {metric} {was:.6g} -> {is_:.6g}")
    return lines


def main() -> None:
    """Run the panel, keep it or compare it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moved", description=__doc__)
    parser.add_argument("scenarios", nargs="?", type=int, default=60, help="how many (default 60)")
    parser.add_argument("--keep", type=Path, help="write the outcomes to this file")
    parser.add_argument("--since", type=Path, help="compare with the outcomes of this file")
    parser.add_argument("--show", nargs="*", default=["today"], help="configurations to show")
    asked = parser.parse_args()
    now = outcomes(asked.scenarios)
    if asked.keep:
        asked.keep.write_text(json.dumps(now, default=str), encoding="utf-8")
    if asked.since:
        before = json.loads(asked.since.read_text(encoding="utf-8"))
        print(*told(before, json.loads(json.dumps(now, default=str)), asked.show), sep="\n")


if __name__ == "__main__":
    main()
