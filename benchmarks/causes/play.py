"""One plant: its night is simulated, judged against its baseline, and asked for its cause."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.causes.cases import COMMIT, Causes, Planted
from benchmarks.causes.history import Clone, Made, phases_anew
from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.home import SHIPPED, Home
from isr_pipeline.experiment.plan import Plan, code_version, make_plan
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.kernels.source import Source, libraries_here, read_package, write_archive
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.tables import store
from isr_pipeline.verdicts import acceptance, baseline
from isr_pipeline.verdicts.blame.case import Case, read_case
from isr_pipeline.verdicts.blame.culprit import Search
from isr_pipeline.verdicts.blame.why import Explanation, explain
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import NightVerdict, Status
from isr_pipeline.worlds.columns import COLUMNS

BASELINE, ALONE, TONIGHT = "2026-11-18", "2026-11-19", "2026-11-20"
EXPERIMENT = "planted"
CALLED = frozenset({Status.SUSPECT, Status.REGRESSED, Status.IMPROVED})
"""A plant counts if a metric of it has one of these when nothing else was changed."""

CONFIRM = 20
"""Scenarios of the confirm panel, which nobody looks at here: enough for one of every stratum."""


class Unplayable(Exception):
    """A plant whose night cannot be simulated: a pair of it breaks."""


@dataclass(frozen=True)
class Side:
    """What one night runs: settings, sources, and how its plan names the code."""

    overrides: Mapping[str, Any]
    source: Source
    version: str


class Stage:
    """Where plants are played, one after the other.

    Args:
        causes: sizes.
        folder: scratch; its contents are made again at each start but for kernels.
    """

    def __init__(self, causes: Causes, folder: Path) -> None:
        self.causes = causes
        self.folder = folder
        self._known: dict[str, list[dict[str, Any]]] = {}
        self._kernels = ExitStack()
        self._running: tuple[str, Kernel] | None = None

    def close(self) -> None:
        """End the kernel that runs."""
        self._kernels.close()

    def _kernel(self, source: Source) -> Kernel:
        """The kernel of some sources: one runs at a time, and stays for the next night."""
        if self._running is None or self._running[0] != source.digest:
            self._kernels.close()
            kernel = self._kernels.enter_context(Kernel(source, "the plant's code"))
            self._running = (source.digest, kernel)
        return self._running[1]

    @cached_property
    def clone(self) -> Clone:
        """A clone of this checkout."""
        target = self.folder / "clone"
        shutil.rmtree(target, ignore_errors=True)
        return Clone(target)

    def play(self, planted: Planted) -> dict[str, Any]:
        """Play a plant and say what was found, as JSON has it."""
        begun = time.monotonic()
        told: dict[str, Any] = {
            "plant": planted.key,
            "sort": planted.sort,
            "kind": planted.kind,
            "anew": planted.anew,
        }
        try:
            found = self._found(planted)
        except Unplayable as problem:
            found = {"counts": False, "left_out": f"its night cannot be simulated: {problem}"}
        return {**told, **found, "seconds": round(time.monotonic() - begun, 1)}

    def _found(self, planted: Planted) -> dict[str, Any]:
        made = self._made(planted)
        before, after = self._sides(planted, made)
        alone = self._alone(planted, made)
        baseline.forget(EXPERIMENT)
        judge_night(self._night(BASELINE, before, planted.host))
        acceptance.accept(EXPERIMENT, BASELINE, "benchmark", "before the plant")
        called = _called(judge_night(self._night(ALONE, alone, planted.host)))
        if not called:
            return {"counts": False, "left_out": "nothing of it is called"}
        judge_night(self._night(TONIGHT, after, planted.host))
        try:
            case = read_case(Plan.of_night(EXPERIMENT, TONIGHT), planted.host)
        except Refused as refusal:
            return {"counts": True, "called": called, "blame": {"named": False,
                    "problem": str(refusal)}, "why": {"first": False}}  # fmt: skip
        asked = {"metric": case.metric, "status": case.status, "differing": len(case.differing)}
        said = {"counts": True, "called": called, **asked}
        return {**said, "blame": self._blame(case, planted, made), "why": _why(case, planted)}

    def _made(self, planted: Planted) -> Made | None:
        if planted.sort != COMMIT:
            return None
        assert planted.mutant is not None, "a commit plants a mutant"
        return self.clone.plant(planted.history, planted.mutant)

    def _sides(self, planted: Planted, made: Made | None) -> tuple[Side, Side]:
        if made is not None:
            before = Side(planted.before, made.before, _version(made.before, made.first))
            return before, Side(planted.after, made.after, _version(made.after, made.last))
        present = read_package()
        after = phases_anew(present) if planted.anew else present
        return (
            Side(planted.before, present, code_version()),
            Side(planted.after, after, code_version() if after is present else _version(after)),
        )

    def _alone(self, planted: Planted, made: Made | None) -> Side:
        """The plant and nothing else."""
        if made is not None:
            return Side(planted.before, made.alone, _version(made.alone))
        only = {**planted.before, planted.cause: planted.after[planted.cause]}
        return Side(only, read_package(), code_version())

    def _night(self, night: str, side: Side, host: str) -> Plan:
        """The tables of a night, simulated by its code; its plan."""
        home = Home.from_environment()
        kernel = home.kernels / f"{side.version.rpartition('+kernel.')[2]}.tar.xz"
        if not kernel.is_file():
            kernel.parent.mkdir(parents=True, exist_ok=True)
            kept = replace(side.source, code_version=side.version, libraries=libraries_here())
            write_archive(kept, kernel)
        plan = self._plan(night, side, host)
        plan.save(home.night_dir(EXPERIMENT, night) / "plan.json")
        drawn = [row for panel in ("regression", "confirm")
                 for row in draw_panel(plan.definition.source, panel)]  # fmt: skip
        scenarios = pd.DataFrame([asdict(row) for row in drawn])
        store.write_table("scenarios", EXPERIMENT, night, scenarios)
        (one,) = plan.configurations
        outcomes = pd.DataFrame(self._outcomes(side, [row.scenario_json for row in drawn]))
        for name in ("panel", "scenario_id"):
            outcomes.insert(0, name, scenarios[name])
        outcomes.insert(0, "config_id", one.config_id)
        store.write_table("outcomes", EXPERIMENT, night, outcomes)
        return plan

    def _plan(self, night: str, side: Side, host: str) -> Plan:
        """The experiment with one configuration, which keeps its name whatever its values are."""
        written = read_mapping(
            SHIPPED / "config" / "experiments" / f"{self.causes.experiment}.yaml"
        )
        written |= {
            "seed": self.causes.seed,
            "panels": {"regression": self.causes.scenarios, "confirm": CONFIRM},
            "reference": host,
            "groups": [{"name": "planted", "candidates": [{"name": host, "set": side.overrides}]}],
        }
        file = self.folder / f"{EXPERIMENT}.yaml"
        file.write_text(json.dumps(written), encoding="utf-8")
        return make_plan(file, night).model_copy(update={"code_version": side.version})

    def _outcomes(self, side: Side, scenarios: list[str]) -> list[dict[str, Any]]:
        key = f"{side.source.digest} {json.dumps(dict(side.overrides), sort_keys=True)}"
        if key not in self._known:
            pairs = [(json.loads(text), side.overrides) for text in scenarios]
            self._known[key] = [_outcome(ran) for ran in self._kernel(side.source).outcomes(pairs)]
        return self._known[key]

    def _blame(self, case: Case, planted: Planted, made: Made | None) -> dict[str, Any]:
        checkout = self.clone.folder if made is not None else self.folder
        said = Search(case, checkout=checkout).blame()
        cause = said["cause"]
        if made is not None:
            named = cause["kind"] == "commit" and cause["sha"] == made.planted
        else:
            named = cause["kind"] == planted.kind and cause["name"] == planted.cause
        return {"named": named, "kind": cause["kind"], "name": cause["name"],
                "text": cause["text"], "trials": len(said["tried"])}  # fmt: skip


def _version(source: Source, commit: str = "planted") -> str:
    return f"{commit[:12]}+kernel.{source.kernel_digest[:12]}"


def _outcome(ran: Any) -> dict[str, Any]:
    if ran.problem:
        raise Unplayable(ran.problem)
    return {column.name: ran.outcome[column.name] for column in COLUMNS}


def _called(verdict: NightVerdict) -> list[str]:
    """Metrics that the plant alone is called for."""
    (one,) = verdict.configurations
    return [metric.metric for metric in one.metrics if metric.status in CALLED]


def _why(case: Case, planted: Planted) -> dict[str, Any]:
    try:
        found = explain(case)
    except Refused as refusal:
        return {"first": False, "problem": str(refusal)}
    decided = found.decided_by["name"]
    planted_part = planted.cause
    if planted.mutant is not None:
        planted_part = f"kafka/{planted.mutant.file}: {planted.mutant.function}"
    return {
        "first": is_first(found),
        "t_ms": found.first["t_ms"],
        "decided_by": decided,
        "decided": planted_part in decided.split(", "),
    }


def is_first(found: Explanation) -> bool:
    """Whether both histories, run again and compared event by event, part where `why` says.

    The events are compared with all that they hold, not by what `why` compares.
    """
    with ExitStack() as kernels:
        old = new = kernels.enter_context(Kernel(found.case.before.source, "the baseline's code"))
        if not found.case.same_code:
            new = kernels.enter_context(Kernel(found.case.after.source, "the night's code"))
        before = old.run(found.drawn.scenario, found.case.before.overrides).events
        after = new.run(found.drawn.scenario, found.case.after.overrides).events
    apart = _first_apart(before, after)
    if apart is None:
        return "what" in found.first  # no event differs: a sample is what parts
    return bool(found.first["t_ms"] == apart and "what" not in found.first)


def _first_apart(before: Iterable[dict[str, Any]], after: Iterable[dict[str, Any]]) -> float | None:
    for old, new in zip_longest(before, after):
        if old != new:
            return min(float(one["t_ms"]) for one in (old, new) if one is not None)
    return None
