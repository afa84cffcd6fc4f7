"""Recordings of real brokers that ship with the project, and how many of them agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import Bad, Check, number, one_of, text, whole
from isr_pipeline.base.files.models import validated
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.scenarios.rule_set_files import release_named

RECORDINGS = Path(__file__).resolve().parent / "recordings"
OBSERVATIONS = RECORDINGS / "observations.jsonl"
"""One repetition of an experiment on real brokers a line."""

RETURNS = RECORDINGS / "returns.jsonl"
"""The same of brokers that were started again before their session was over."""

SESSIONS = RECORDINGS / "sessions.jsonl"
"""The same of two deaths, of a join beside a dead member, of clean restarts and failed log dirs."""

SHIPPED = (OBSERVATIONS, RETURNS, SESSIONS)

AGREEMENT = RECORDINGS / "agreement.json"
"""Rule set -> repetitions that agree, as `isr-pipeline conform --record` last wrote it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One repetition of one experiment on real brokers.

    Attributes:
        release: of the brokers; the scenario has its rules, whatever the file's scenario names.
    """

    id: str
    case: str
    release: str
    compare: str
    scenario: Scenario
    observed: list[dict[str, Any]]


_NUMBERS = "broker numbers or null"

NAME = text(r"[\w.+-]{1,100}", "a name of letters, digits, . _ + - (at most 100)")


def _name_or_none(value: Any) -> Any:
    return None if value is None else NAME.read(value)


def _isr(value: Any) -> Any:
    if value is not None and not (isinstance(value, list) and all(type(v) is int for v in value)):
        raise Bad(_NUMBERS)
    return value


def _number_or_none(value: Any) -> Any:
    return None if value is None else whole(-1, 2**31 - 1).read(value)


class _Lenient(BaseModel):
    """A recording holds more than is compared."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Event(_Lenient):
    t_ms: Annotated[float, number(0, 1e12, "a number >= 0")]
    event: Annotated[str, text(r"[a-z_]{1,60}", "a kind of event")] = Field(alias="kind")
    topic: Annotated[str | None, Check("a topic or null", _name_or_none)] = None
    partition: Annotated[int | None, Check("a partition or null", _number_or_none)] = None
    leader: Annotated[int | None, Check("a broker's number or null", _number_or_none)] = None
    isr: Annotated[list[int] | None, Check(_NUMBERS, _isr)] = None


class _Line(_Lenient):
    id: Annotated[str, NAME]
    case: Annotated[str, NAME]
    release: Annotated[str, NAME]
    compare: Annotated[str, one_of("timeline", "counts")]
    scenario: Annotated[Any, Check("a scenario", lambda v: v)]
    observed: tuple[_Event, ...]


def load_observations(path: Path) -> list[Observation]:
    """Read a file of observations, one JSON object a line.

    Raises:
        InputError: the file cannot be read, or a line is not of the form.
    """
    found = []
    for where, raw in json_lines(path):
        validated(_Line, raw, where)
        _check_partitions(raw["observed"], where)
        scenario = of_release(raw["scenario"], raw["release"])
        found.append(
            Observation(
                raw["id"],
                raw["case"],
                raw["release"],
                raw["compare"],
                parse_scenario(scenario, where),
                raw["observed"],
            )
        )
    return found


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Read a file of recordings: what errors call each line, and its JSON; empty ones are none.

    Raises:
        InputError: the file cannot be read, or a line is not JSON.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", error, "a readable file of observations") from None
    for line_no, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}: line {line_no}"
        try:
            raw = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(where, "", error, "one JSON object a line") from None
        except RecursionError:
            raise InputError(where, "", "nested too deeply", "an observation") from None
        yield where, raw


def of_release(scenario: Any, release: str) -> Any:
    """The scenario under the rules of the brokers that were seen; what is no scenario stays.

    Replication has a listener of its own in all recordings that say nothing else: a proxy stood
    before it. Their producers sent nothing again.
    """
    if not isinstance(scenario, dict) or not isinstance(scenario.get("cluster"), dict):
        return scenario
    named = {"replication_listener": True, **scenario["cluster"]}
    told = {**scenario, "cluster": named | {"release": release_named(release, Path())}}
    if isinstance(scenario.get("topics"), list):
        told["topics"] = [_sent_once(topic) for topic in scenario["topics"]]
    return told


def _sent_once(topic: Any) -> Any:
    """A topic whose producers send again nothing that is refused; what is no topic stays."""
    streams = topic.get("produce") if isinstance(topic, dict) else None
    if not isinstance(streams, list) or not all(isinstance(one, dict) for one in streams):
        return topic
    return {**topic, "produce": [{"retries": 0, **one} for one in streams]}


def _check_partitions(events: list[dict[str, Any]], where: str) -> None:
    """Refuse an event of a topic that does not say of which partition."""
    for index, event in enumerate(events):
        if event.get("topic") is not None and event.get("partition") is None:
            field = f"observed[{index}].partition"
            raise InputError(where, field, "missing", "a partition's number")


def load_agreement() -> dict[str, int]:
    """Agreeing repetitions by rule set; empty if they were never recorded."""
    try:
        return dict(json.loads(AGREEMENT.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def save_agreement(agreeing: dict[str, int]) -> None:
    """Keep how many repetitions agree, by rule set."""
    AGREEMENT.write_text(json.dumps(dict(sorted(agreeing.items())), indent=2) + "\n")
