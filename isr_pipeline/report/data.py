"""What a report is drawn from: the tables and the verdict of one night, read once."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from isr_pipeline.base.errors import TableMissing
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import Plan, code_version
from isr_pipeline.kernels.source import kernel_of
from isr_pipeline.report.differences import is_answer
from isr_pipeline.report.story import Run
from isr_pipeline.report.words import heading, short_name
from isr_pipeline.scenarios.model import Scenario, apply, scenario_from_json
from isr_pipeline.tables import store
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.baseline import baseline_panel
from isr_pipeline.verdicts.comparison import PanelOutcomes, standing_panel
from isr_pipeline.verdicts.figures import figure_of_each
from isr_pipeline.verdicts.judge import Sides, deciding, on_all
from isr_pipeline.verdicts.quantities import VerdictSettings, load_settings
from isr_pipeline.verdicts.record import ConfigVerdict, NightVerdict, Per, Status, verdict_of
from isr_pipeline.verdicts.sentences import unit_per
from isr_pipeline.worlds.columns import MAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.verdicts.record import AgainstReference

SPURIOUS = "spurious_shrinks_per_partition_hour"
DETECTION_DELAY = "detection_delay_ms"

MAIN_KEYS = (
    "follower.fetch.process.time.max.ms",
    "replica.lag.time.max.ms",
    "min.insync.replicas",
    "rules.kip501",
    "cluster.release",
    "rules.isr_lock",
    "rules.fetcher",
    "num.replica.fetchers",
)
"""Keys that make the axes of a heat map: the first two of these that vary."""

NIGHTS_SHOWN = 30
REGRESSIONS_SHOWN = 6


@dataclass(frozen=True)
class Heat:
    """A metric by the values of two keys.

    Attributes:
        columns: values of the first key; ``rows``: of the second.
        matrix: (row, column), NaN where there is no configuration.
        unit: in words.
    """

    columns: list[str]
    rows: list[str]
    matrix: npt.NDArray[np.float64]
    unit: str


@dataclass(frozen=True)
class Deciding:
    """A scenario that carries much of a regression.

    Attributes:
        config_id: the configuration.
        metric: the metric that got worse.
        scenario_id: the scenario.
        before, after: natural units, the baseline and tonight.
        runs: the baseline's and tonight's; tonight's alone if the baseline is of other code; none
            if its events were not kept and cannot be had again.
    """

    config_id: str
    metric: str
    scenario_id: str
    before: float
    after: float
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class NightData:
    """One night, as the report needs it."""

    plan: Plan
    verdict: NightVerdict
    settings: VerdictSettings
    panel: PanelOutcomes
    scenarios: pd.DataFrame
    baseline: baselines.Baseline | None

    def configuration(self, config_id: str) -> Configuration:
        """Return a configuration by its id."""
        return next(one for one in self.plan.configurations if one.config_id == config_id)

    def called(self, stratum: str) -> str:
        """What happens in the scenarios of a stratum."""
        return self.plan.definition.profile.called(stratum)

    def name(self, config_id: str) -> str:
        """Name of a configuration."""
        return str(self.configuration(config_id).name)

    @cached_property
    def against(self) -> dict[str, AgainstReference]:
        """config_id -> what it gains and costs against the reference, which is not among them."""
        return {one.config_id: one for one in self.verdict.against_reference}

    @cached_property
    def reference(self) -> Configuration:
        """The configuration that others are compared with."""
        return next(one for one in self.plan.configurations if one.name == self.plan.reference)

    @cached_property
    def headings(self) -> dict[str, list[Configuration]]:
        """Configurations below their headings, both in the order of the experiment's file."""
        found: dict[str, list[Configuration]] = {}
        for one in self.plan.configurations:
            found.setdefault(heading(one), []).append(one)
        return found

    @cached_property
    def short(self) -> dict[str, str]:
        """config_id -> a name for an axis: short where that is clear without its heading."""
        names = Counter(short_name(one) for one in self.plan.configurations)
        return {
            one.config_id: short_name(one) if names[short_name(one)] == 1 else str(one.name)
            for one in self.plan.configurations
        }

    @cached_property
    def flagged(self) -> tuple[ConfigVerdict, ...]:
        """Configurations that regressed or are suspect, worst first."""
        ranked = [
            one
            for status in (Status.REGRESSED, Status.SUSPECT)
            for one in self.verdict.configurations
            if one.status is status
        ]
        return tuple(ranked[:REGRESSIONS_SHOWN])

    @cached_property
    def is_answer(self) -> bool:
        """See :func:`isr_pipeline.report.differences.is_answer`."""
        return is_answer(self.plan, self.verdict)

    def pair(self, one: ConfigVerdict) -> tuple[PanelOutcomes, PanelOutcomes] | None:
        """Tonight's and the baseline's outcomes of a configuration, one column each."""
        if self.baseline is None or one.baseline_config_id is None:
            return None
        before = baseline_panel(self.baseline, "regression", (one.baseline_config_id,))
        return self.panel.select((one.config_id,)), before

    def _on_all(self, one: ConfigVerdict) -> Sides | None:
        """The same on all scenarios of the night; None if there were no further ones."""
        if self.baseline is None or one.baseline_config_id is None:
            return None
        return on_all(self.plan, self.baseline, self.verdict, one)

    def deciding(
        self, one: ConfigVerdict, metric: str, chosen: tuple[str, ...] = ()
    ) -> tuple[Deciding, ...]:
        """The scenarios that decided on a metric, or those chosen, of any panel.

        A chosen one that a side never ran is left out.
        """
        pair = self.pair(one)
        if pair is None:
            return ()
        sides = Sides(self.scenarios, *pair)
        if not chosen:
            sides, chosen = deciding(one.metric(metric), sides, lambda: self._on_all(one))
        elif not set(chosen) <= set(sides.new.scenario_ids):
            sides = self._on_all(one) or sides
        before, after = sides.old.natural(metric)[:, 0], sides.new.natural(metric)[:, 0]
        found = []
        for scenario_id in chosen:
            if scenario_id not in sides.new.scenario_ids:
                continue
            row = sides.new.scenario_ids.index(scenario_id)
            if not np.isfinite([before[row], after[row]]).all():
                continue
            found.append(
                Deciding(
                    config_id=one.config_id,
                    metric=metric,
                    scenario_id=scenario_id,
                    before=float(before[row]),
                    after=float(after[row]),
                    runs=self._runs(one, scenario_id, sides.text(scenario_id)),
                )
            )
        return tuple(found)

    def values_in(
        self, one: ConfigVerdict, metric: str, scenario_id: str
    ) -> tuple[float, float] | None:
        """A metric's total in one scenario of any panel, the baseline's and tonight's.

        Returns:
            None if a side was never run there.
        """
        pair = self.pair(one)
        if pair is not None and scenario_id not in pair[0].scenario_ids:
            sides = self._on_all(one)
            pair = None if sides is None else (sides.new, sides.old)
        if pair is None or scenario_id not in pair[0].scenario_ids:
            return None
        new, old = pair
        row = new.scenario_ids.index(scenario_id)
        values = float(old.natural(metric)[row, 0]), float(new.natural(metric)[row, 0])
        return values if np.isfinite(values).all() else None

    def _runs(self, one: ConfigVerdict, scenario_id: str, text: str) -> tuple[Run, ...]:
        """The baseline's run of a scenario and tonight's, as far as they can be had."""
        scenario = scenario_from_json(text)
        tonight = apply(scenario, self.configuration(one.config_id).overrides)
        events = self._kept(scenario_id, one.config_id)
        if not events and kernel_of(self.plan.code_version) == kernel_of(code_version()):
            events = _again(tonight)
        if not events:
            return ()
        runs = (Run("tonight", tonight, events),)
        before = self._before(one)
        if before is None:
            return runs
        partner = apply(scenario, before)
        return (Run("baseline", partner, _again(partner)), *runs)

    def _before(self, one: ConfigVerdict) -> dict[str, Any] | None:
        """The baseline's settings of a configuration, if the kernel that runs now is its own."""
        if self.baseline is None or one.baseline_config_id is None:
            return None
        record, partner = self.baseline.record, one.baseline_config_id
        if kernel_of(record.acceptance(partner).code_version) != kernel_of(code_version()):
            return None
        return dict(record.configuration(partner).overrides)

    def _kept(self, scenario_id: str, config_id: str) -> list[dict[str, Any]]:
        """Events of a pair, in order, as the night kept them; none if it did not."""
        events = self._events
        if events is None:
            return []
        mine = (events["scenario_id"] == scenario_id) & (events["config_id"] == config_id)
        return [_listed(row) for row in events[mine].sort_values("seq").to_dict("records")]

    @cached_property
    def _events(self) -> pd.DataFrame | None:
        try:
            return store.read_table(
                "events", self.plan.experiment, self.plan.night, root=self.plan.root
            )
        except TableMissing:
            return None

    @cached_property
    def heat_keys(self) -> tuple[str, ...]:
        """The two keys whose values make the axes of the heat maps (fewer if fewer vary)."""
        every = {key for one in self._comparable for key in one.params}
        varying = {
            key for key in every if len({str(one.params.get(key)) for one in self._comparable}) > 1
        }
        main = [key for key in MAIN_KEYS if key in varying]
        return tuple([*main, *sorted(varying - {*main})][:2])

    @cached_property
    def _comparable(self) -> tuple[Configuration, ...]:
        """Configurations of the reference's release (a heat map over releases says little)."""
        release = self.reference.params.get("cluster.release")
        return tuple(
            one
            for one in self.plan.configurations
            if one.params.get("cluster.release") == release and not self.unusable(one.config_id)
        )

    def unusable(self, config_id: str) -> bool:
        """Whether a configuration has a failed or missing pair."""
        return bool(self.panel.unusable[:, self.panel.column(config_id)].any())

    def figures(self, metric: str) -> tuple[str, npt.NDArray[np.float64]] | None:
        """What every configuration has of a metric, and its unit.

        Where nobody counts incidents it is the ratio to the reference: the mix of a panel says
        nothing of a year. None where the reference has nothing.
        """
        profile = self.plan.definition.profile
        per, values = figure_of_each(self.panel, metric, self.settings, profile)
        if per is not Per.MIX:
            return unit_per(metric, per), values
        of_reference = values[self.panel.column(self.reference.config_id)]
        if not of_reference > 0:
            return None
        return f"ratio to {self.plan.reference}", values / of_reference

    def heat(self, metric: str) -> Heat | None:
        """Mean of a metric over the configurations that share the values of the two main keys.

        Returns:
            None if fewer than two keys vary, or there is nothing to tell.
        """
        found = self.figures(metric) if len(self.heat_keys) == 2 else None
        if found is None:
            return None
        unit, figures = found
        across, down = self.heat_keys
        means = dict(zip(self.panel.config_ids, figures, strict=True))
        columns = ordered({one.params.get(across) for one in self._comparable})
        rows = ordered({one.params.get(down) for one in self._comparable})
        cells: dict[tuple[str, str], list[float]] = {}
        for one in self._comparable:
            place = str(one.params.get(down)), str(one.params.get(across))
            cells.setdefault(place, []).append(float(means[one.config_id]))
        matrix = np.full((len(rows), len(columns)), np.nan)
        for (row, column), values in cells.items():
            matrix[rows.index(row), columns.index(column)] = float(np.mean(values))
        return Heat(columns, rows, matrix, unit)

    def causes(self, metric: str, by: str) -> tuple[list[str], npt.NDArray[np.float64]]:
        """What share of a metric's weighted total each fault kind (or stratum) stands for.

        Args:
            metric: outcome column.
            by: ``fault_kinds`` or ``strata``; a scenario with two kinds counts for both.

        Returns:
            the kinds, and (kinds, configurations) weighted totals in natural units.
        """
        groups: tuple[str, ...] = getattr(self.panel, by)
        split = [set(group.split(",")) - {""} for group in groups]
        kinds = sorted(set().union(*split))
        natural = np.nan_to_num(self.panel.natural(metric)) * self.panel.weights[:, None]
        member = np.array([[kind in one for one in split] for kind in kinds], dtype=float)
        return kinds, member @ natural

    @cached_property
    def trend(self) -> pd.DataFrame:
        """Columns night, config_name, metric, value: of the standing panel, oldest first."""
        nights = store.list_nights(self.plan.experiment, table="summary")
        before = [night for night in nights if night < self.plan.night][1 - NIGHTS_SHOWN :]
        roots = {night: None for night in before if self._same_panel(night)}
        parts = []
        for night, root in {**roots, self.plan.night: self.plan.root}.items():
            try:
                rows = store.read_table("summary", self.plan.experiment, night, root=root)
            except TableMissing:
                continue
            rows = rows[(rows["stratum"] == "all") & rows["metric"].isin(MAIN)]
            rows = rows[rows["panel"] == "regression"]
            parts.append(rows[["config_name", "metric", "value"]].assign(night=night))
        if not parts:
            return pd.DataFrame(columns=["config_name", "metric", "value", "night"])
        return pd.concat(parts, ignore_index=True)

    def _same_panel(self, night: str) -> bool:
        """Whether a night had tonight's standing panel: values of two panels are no curve."""
        file = Home.from_environment().night_dir(self.plan.experiment, night) / "plan.json"
        try:
            return bool(json.loads(file.read_text())["panel_digest"] == self.plan.panel_digest)
        except (OSError, ValueError, KeyError, TypeError):
            return False


def _again(scenario: Scenario) -> list[dict[str, Any]]:
    from isr_pipeline.worlds.run import run  # noqa: PLC0415 - loads the kernel

    return run(scenario, events=True).events


def _listed(row: Mapping[Any, Any]) -> dict[str, Any]:
    """An event of the table as a run lists it: what it has not is left out, an ISR is a list."""
    event = {str(name): value for name, value in row.items() if not pd.isna(value)}
    numbers = ("partition", "broker", "leader", "leader_epoch")
    event |= {name: int(event[name]) for name in numbers if name in event}
    return event | ({"isr": json.loads(event["isr"])} if "isr" in event else {})


def ordered(values: set[Any]) -> list[str]:
    """Values as text: numbers by size, then words."""
    return [
        str(value)
        for value in sorted(
            values,
            key=lambda value: (
                not isinstance(value, int | float),
                value if isinstance(value, int | float) else 0,
                str(value),
            ),
        )
    ]


def read_night(plan: Plan) -> NightData:
    """Read everything a report needs.

    Raises:
        Refused: the night was not judged.
    """
    settings = load_settings()
    verdict = verdict_of(plan)
    scenarios, panel = standing_panel(plan, [one.config_id for one in plan.configurations])
    try:
        baseline = baselines.load(plan.experiment)
    except baselines.BaselineDamaged:
        baseline = None
    return NightData(plan, verdict, settings, panel, scenarios, baseline)


def replay_command(plan: Plan, one: Deciding, name: str) -> str:
    """The command that shows this scenario under this configuration, event by event."""
    return (
        f"isr-pipeline simulate --night {plan.night} --experiment {plan.experiment} "
        f"--scenario {one.scenario_id} --config {shlex.quote(name)} --trace trace.html"
    )
