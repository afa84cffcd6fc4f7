"""Recordings of real brokers that ship with the project, and how many of them agree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.errors import InputError
from isr_pipeline.scenarios.model import Scenario, parse_scenario

RECORDINGS = Path(__file__).resolve().parent / "recordings"
OBSERVATIONS = RECORDINGS / "observations.jsonl"
"""One repetition of an experiment on real brokers a line."""

RETURNS = RECORDINGS / "returns.jsonl"
"""The same of brokers that were started again before their session was over."""

SHIPPED = (OBSERVATIONS, RETURNS)

AGREEMENT = RECORDINGS / "agreement.json"
"""Rule set -> repetitions that agree, as `isr-pipeline conform --record` last wrote it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One repetition of one experiment on real brokers."""

    id: str
    case: str
    release: str
    compare: str
    scenario: Scenario
    observed: list[dict[str, Any]]


def load_observations(path: Path) -> list[Observation]:
    """Read a file of observations, one JSON object a line.

    Raises:
        InputError: the file cannot be read, or a line is not of the form.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", error, "a readable file of observations") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            raw = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(where, "", error, "one JSON object a line") from None
        for name in ("id", "case", "release", "compare", "scenario", "observed"):
            if not isinstance(raw, dict) or name not in raw:
                raise InputError(where, name, "missing", "an observation of a real broker")
        found.append(
            Observation(
                raw["id"],
                raw["case"],
                raw["release"],
                raw["compare"],
                parse_scenario(raw["scenario"], where),
                raw["observed"],
            )
        )
    return found


def load_agreement() -> dict[str, int]:
    """Agreeing repetitions by rule set; empty if they were never recorded."""
    try:
        return dict(json.loads(AGREEMENT.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def save_agreement(agreeing: dict[str, int]) -> None:
    """Keep how many repetitions agree, by rule set."""
    AGREEMENT.write_text(json.dumps(dict(sorted(agreeing.items())), indent=2) + "\n")
