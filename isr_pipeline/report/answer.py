"""The answer of a night, first sentence first: which setting, what clients gain, at which price.

What is said was measured on scenarios that did not choose (:mod:`isr_pipeline.verdicts.choice`).
The answer is written into the night's folder when its verdict is, and read from there by whoever
shows it: page, terminal, MLflow, `night show`.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from isr_pipeline.experiment.file import healthy_scenario
from isr_pipeline.experiment.own_values import own_values
from isr_pipeline.experiment.replicas import KEY as MIN_ISR
from isr_pipeline.files.whole import write_whole
from isr_pipeline.home import Home
from isr_pipeline.kafka.release_numbers import stands_for
from isr_pipeline.report.backing import backing, where_it_ends
from isr_pipeline.scenarios.model import apply
from isr_pipeline.verdicts.choice import (
    SURE,
    Change,
    Choice,
    Choices,
    Kind,
    Measured,
    choose,
    kind_of,
)
from isr_pipeline.verdicts.judge import panel_rows
from isr_pipeline.verdicts.model import LOST
from isr_pipeline.verdicts.panel import PanelOutcomes, partitions_in
from isr_pipeline.verdicts.quantities import PRODUCE, UNDER_MIN, label
from isr_pipeline.verdicts.settings import load_settings

if TYPE_CHECKING:
    import pandas as pd

    from isr_pipeline.experiment.grid import Configuration
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.storage.places import Place
    from isr_pipeline.verdicts.settings import VerdictSettings

FILE = "answer.json"
"""In the night's folder."""

ASKED_SHOWN = 8
"""Asked configurations that the answer tells in words; the table has all."""

SURELY, MENTIONED_FROM = 0.05, 0.005
"""One-sided p below which, and change of a ratio from which, a metric is gained or paid."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a night answers, in parts; each is a sentence or more, or empty.

    Attributes:
        configuration: name of what is advised; the reference's if it is kept.
        setting: its keys and values, where they differ from the reference's; empty if kept.
        keeps: whether the reference is kept.
        first: the first sentence: which setting, what clients gain, how sure.
        gains: what else gets better.
        price: what gets worse.
        sure: from how many scenarios, how sure to be the best.
        decides: which scenarios and assumptions decide it.
        asked: what each setting or release that was asked about gains and costs.
        asked_each: the same, one item for each, then whom the question did not change.
        rivals: what published advice does here.
        releases: what another release would change.
        proposals: what a proposal that no broker has would change.
        backing: how far real brokers back the model at this size and release.
    """

    configuration: str
    setting: str
    keeps: bool
    first: str
    gains: str
    price: str
    sure: str
    decides: str
    asked: str
    asked_each: tuple[str, ...]
    rivals: str
    releases: str
    proposals: str
    backing: str

    @property
    def short(self) -> str:
        """What is gained, at which price, and how sure: what stands where there is little room."""
        parts = (self.first, self.gains, self.price, self.sure)
        return " ".join(part for part in parts if part)

    @property
    def text(self) -> str:
        """Everything, as one paragraph."""
        rest = (self.rivals, self.releases, self.proposals, self.backing)
        return " ".join(part for part in (self.short, self.decides, self.asked, *rest) if part)

    def as_json(self) -> dict[str, Any]:
        """The parts and the whole text, as `night show --json` has them."""
        return {**asdict(self), "short": self.short, "text": self.text}


def answer_of(
    plan: Plan, panel: PanelOutcomes, scenarios: pd.DataFrame, settings: VerdictSettings
) -> Answer | None:
    """Answer from the outcomes of a night's base panel.

    Args:
        plan: of the night.
        panel: outcomes of the regression panel.
        scenarios: its rows, with ``scenario_json``.
        settings: of verdicts.

    Returns:
        None if the reference has no data, or nothing stands beside it.
    """
    choices = choose(plan, panel, settings)
    if choices is None or not choices.every:
        return None
    return _Words(plan, choices, _size(scenarios), settings.ratio_min).answer()


def write_answer(plan: Plan) -> Place:
    """Answer, and keep it in the night's folder, whole or not at all."""
    scenarios = panel_rows("scenarios", plan.experiment, plan.night, "regression")
    outcomes = panel_rows("outcomes", plan.experiment, plan.night, "regression")
    ids = tuple(one.config_id for one in plan.configurations)
    panel = PanelOutcomes.from_frames(outcomes, scenarios, ids)
    found = answer_of(plan, panel, scenarios, load_settings())
    folder = Home.from_environment().night_dir(plan.experiment, plan.night)
    content = None if found is None else found.as_json()
    return write_whole(folder / FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_answer(experiment: str, night: str) -> dict[str, Any] | None:
    """The parts of a night's answer as they were kept; None if there is none."""
    file = Home.from_environment().night_dir(experiment, night) / FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _size(scenarios: pd.DataFrame) -> tuple[int, int]:
    """Brokers and partitions of the cluster that is asked about."""
    scenario = json.loads(scenarios["scenario_json"].iloc[0])
    return len(scenario["cluster"]["brokers"]), partitions_in(scenario)


class _Words:
    """Puts choices into words."""

    def __init__(
        self, plan: Plan, choices: Choices, size: tuple[int, int], ratio_min: float
    ) -> None:
        self.by_id = {one.config_id: one for one in plan.configurations}
        self.reference = next(one for one in plan.configurations if one.name == plan.reference)
        self.choices = choices
        self.size = size
        self.ratio_min = ratio_min
        self.definition = plan.definition

    def answer(self) -> Answer:
        """All parts."""
        choice = self.choices.setting
        chosen = self.reference if choice is None else self.by_id[choice.config_id]
        keeps = chosen is self.reference
        measured = None if choice is None or keeps else choice.measured
        comparable = None if measured is None else self._comparable(measured)
        told, kept = self._told(chosen), self._kept()
        return Answer(
            configuration=chosen.name,
            setting="" if keeps else self._setting(chosen),
            keeps=keeps,
            first=self._first(choice, chosen),
            gains="" if comparable is None else _gains(comparable),
            price="" if comparable is None else _price(comparable, self.ratio_min),
            sure=self._sure(choice),
            decides=self._decides(choice, measured),
            asked=self._asked(told, kept),
            asked_each=(*told, *kept),
            rivals=self._rivals(),
            releases=self._another(self.choices.release, "Another release"),
            proposals=self._another(self.choices.proposal, "What no released broker has"),
            backing=self._backing(chosen),
        )

    def _first(self, choice: Choice | None, chosen: Configuration) -> str:
        name = self.reference.name
        if choice is None:
            return "No setting to choose: the other configurations change rules or the release."
        if choice.is_advised:
            assert choice.measured is not None
            how_sure = _percent(choice.measured.better)
            return (
                f"Set {self._setting(chosen)} ({chosen.name}): "
                f"{_change(choice.measured.changes[PRODUCE])} of {name}'s, "
                f"{how_sure} sure that it is better."
            )
        if choice.measured is None:
            surely = "surely " if choice.probability_best < SURE else ""
            return f"Keep {name}: {_none_of(choice.candidates)} {surely}better{_without(choice)}."
        best = self.by_id[choice.best]
        return (
            f"Keep {name}: nothing else is surely better. {best.name} looked best on one half of "
            f"the scenarios. On the other half it is better in only "
            f"{_percent(choice.measured.better)} of bootstrap draws, "
            f"{_change(choice.measured.changes[PRODUCE])} of {name}'s."
        )

    def _sure(self, choice: Choice | None) -> str:
        if choice is None:
            return ""
        halves = (
            f"Chosen on {self.choices.chosen_on} scenarios; "
            f"every number is from the other {self.choices.measured_on}."
        )
        if choice.measured is None:
            return f"{halves} {self._sure_to_keep(choice)}"
        best = self.by_id[choice.best].name
        same = [self.by_id[one].name for one in choice.alike]
        alike = f" The same in every scenario: {', '.join(same)}." if same else ""
        return (
            f"{halves} {best} is the best of all {choice.candidates + 1} in "
            f"{_percent(choice.probability_best)} of bootstrap draws.{alike}"
        )

    def _sure_to_keep(self, choice: Choice) -> str:
        """How sure it is that none is better: the other half may see it otherwise."""
        left_out = len(choice.losing) + len(choice.weaker)
        if left_out == choice.candidates:
            return "Each of the others was left out."
        sure = _percent(choice.probability_best)
        if choice.most_often in (choice.best, *choice.alike):
            of = " that was not left out" if left_out else ""
            return f"It is {sure} sure that none{of} is better."
        return (
            f"On these, {self.by_id[choice.most_often].name} is the best in "
            f"{_percent(choice.probability_most_often)} of bootstrap draws, "
            f"{self.reference.name} in {sure}: larger panels would tell."
        )

    def _decides(self, choice: Choice | None, measured: Measured | None) -> str:
        """Which scenarios and assumptions decide it, and what was left out."""
        if choice is None:
            return ""
        if measured is None:
            return self._left_out(choice)
        said = []
        if choice.deciding:
            said.append(f"Decided most by {', '.join(choice.deciding)}.")
        if choice.sensitivity:
            changed = [
                f"{self.by_id[other].name} if {kind} weighs {'half' if factor < 1 else 'double'}"
                for (kind, factor), other in choice.sensitivity.items()
            ]
            said.append(f"It would be {'; '.join(changed)}.")
        else:
            said.append("It stands if the weight of any one fault kind is halved or doubled.")
        return " ".join(filter(None, [*said, self._left_out(choice)]))

    def _left_out(self, choice: Choice) -> str:
        """Which were never chosen, and why."""
        name = self.reference.name
        said = [
            self._those(choice, choice.weaker, "lower", "what acks=all promises"),
            self._those(choice, choice.losing, "lose", f"more acknowledged records than {name}"),
        ]
        if choice.lossy is not None:
            best, lost = self.by_id[choice.lossy[0]].name, choice.lossy[1]
            said.append(f"{best} would gain most, and loses {lost:.3g} more a scenario on average.")
        return " ".join(filter(None, said))

    def _those(self, choice: Choice, ids: tuple[str, ...], does: str, what: str) -> str:
        """A sentence about those that were left out for one reason; nothing about none."""
        if not ids:
            return ""
        if len(ids) == 1:
            return f"{self.by_id[ids[0]].name} {does}s {what} and was left out."
        return f"{len(ids)} of {choice.candidates} others {does} {what} and were left out."

    def _asked(self, told: list[str], kept: list[str]) -> str:
        """What was asked about as one paragraph; see `_told` and `_kept`."""
        said = [f"You asked, against {self.reference.name}: {'; '.join(told)}."] if told else []
        return " ".join([*said, *kept])

    def _told(self, chosen: Configuration) -> list[str]:
        """What was asked about and is not advised, each with its gain and its price."""
        others = [one for one in self.choices.asked if one.config_id != chosen.config_id]
        told = [self._asked_one(one) for one in others[:ASKED_SHOWN]]
        more = len(others) - len(told)
        return [*told, f"{more} more, which the table has"] if more else told

    def _kept(self) -> list[str]:
        """Who has a value of its own for what was asked about, and keeps it: sentences.

        It is said of the advised one too.
        """
        asked = [self.by_id[one.config_id] for one in self.choices.asked]
        if not asked:
            return []
        cluster = apply(healthy_scenario(self.definition, "cluster"), self.reference.overrides)
        changed = [{key: one.overrides.get(key) for key in self._differing(one)} for one in asked]
        return [f"{sentence}." for sentence in own_values(cluster, changed)]

    def _asked_one(self, measured: Measured) -> str:
        name = self.by_id[measured.config_id].name
        first = measured.changes[PRODUCE]
        said = f"{name}{self._takes(measured.config_id)} {_change(first)}"
        comparable = self._comparable(measured)
        rest = ""
        for word, better in (("better", True), ("worse", False)):
            moved = [one for one in _moved(comparable, better=better) if one is not first]
            rest += f", {word}: {_listed(moved)}" if moved else ""
        return said + _lost(measured) + (rest or ", nothing else surely better or worse")

    def _comparable(self, measured: Measured) -> Measured:
        """Without the time under min ISR, where min ISR itself is another: the bar was moved."""
        theirs, ours = (
            one.params.get(MIN_ISR) for one in (self.by_id[measured.config_id], self.reference)
        )
        if theirs == ours:
            return measured
        kept = {name: one for name, one in measured.changes.items() if name != UNDER_MIN}
        return replace(measured, changes=kept)

    def _takes(self, config_id: str) -> str:
        """What it takes to have a configuration, where that is more than a setting."""
        weaker = {one for choice in self.choices.every for one in choice.weaker}
        takes = [
            self._upgrade(self.by_id[config_id]),
            "lowers what acks=all promises" if config_id in weaker else "",
        ]
        said = ", ".join(filter(None, takes))
        return f" ({said})" if said else ""

    def _upgrade(self, configuration: Configuration) -> str:
        """What it takes beside other values of keys; empty if nothing."""
        kind = kind_of(configuration, self.reference)
        if kind is Kind.PROPOSAL:
            return "no released broker has it"
        if kind is Kind.SETTING:
            return ""
        mine, theirs = (
            stands_for(str(one.params["cluster.release"]))
            for one in (configuration, self.reference)
        )
        if mine == theirs:
            return "another controller"
        return "an upgrade" if mine > theirs else "a downgrade"

    def _rivals(self) -> str:
        if not self.choices.rivals:
            return ""
        said = [
            f"{self.by_id[one.config_id].name} {_ratio(one.changes[PRODUCE])}, "
            f"better in {_percent(one.better)}"
            for one in self.choices.rivals
        ]
        return f"Published advice, {label(PRODUCE)}: {'; '.join(said)}."

    def _another(self, choice: Choice | None, title: str) -> str:
        if choice is None:
            return ""
        left_out = self._left_out(choice)
        if choice.measured is None:
            said = f"{title}: {_none_of(choice.candidates)} better{_without(choice)}."
            return f"{said} {left_out}".rstrip()
        best = self.by_id[choice.best]
        sure = "surely better" if choice.is_advised else "not surely better"
        first = _change(choice.measured.changes[PRODUCE])
        said = (
            f"{title}: {best.name} is the best of {choice.candidates}, {sure} than "
            f"{self.reference.name} ({_percent(choice.measured.better)}); {first}."
        )
        measured = self._comparable(choice.measured)
        parts = (said, _gains(measured), _price(measured, self.ratio_min), left_out)
        return " ".join(part for part in parts if part)

    def _backing(self, chosen: Configuration) -> str:
        reduced = self.definition.reduced
        left_out = f" Reduced: {reduced}." if reduced else ""
        ends = where_it_ends(*self.size)
        return f"Behind its rules: {backing(chosen, self.reference)}. {ends}{left_out}"

    def _setting(self, one: Configuration) -> str:
        return ", ".join(f"{key}={_in_text(one, key)}" for key in self._differing(one))

    def _differing(self, one: Configuration) -> list[str]:
        mine, theirs = one.overrides, self.reference.overrides
        return [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]


def _in_text(one: Configuration, key: str) -> str:
    """A value as Kafka's configuration files have it."""
    value = one.overrides.get(key, one.params.get(key, "its default"))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _gains(measured: Measured) -> str:
    """What surely got better beside produce unavailability."""
    won = [one for one in _moved(measured, better=True) if one.metric != PRODUCE]
    return f"Better too: {_listed(won)}." if won else ""


def _price(measured: Measured, ratio_min: float) -> str:
    """What gets worse, surely or perhaps: half a panel may miss a real price.

    Args:
        measured: the choice, on the half that did not choose it.
        ratio_min: from which a rise that is not sure is told.
    """
    paid = _moved(measured, better=False)
    said = f"The price: {_listed(paid)}." if paid else "Nothing tested gets surely worse."
    perhaps = [
        one
        for one in measured.changes.values()
        if one not in paid and math.isfinite(one.ratio) and one.ratio >= ratio_min
    ]
    return f"{said} Perhaps worse: {_listed(perhaps)}." if perhaps else said


def _lost(measured: Measured) -> str:
    """That more acknowledged records are lost, however seldom; nothing if not."""
    lost = measured.changes[LOST]
    if lost.value <= lost.reference_value:
        return ""
    return f", loses {lost.value:.3g} acknowledged records a scenario ({lost.reference_value:.3g})"


def _listed(changes: list[Change]) -> str:
    return ", ".join(map(_change, changes))


def _moved(measured: Measured, *, better: bool) -> list[Change]:
    """Metrics that surely got better, or worse, and by more than nothing.

    A p-value alone may be that of one stratum, or of the ranks: the ratio that is printed, with its
    whole interval, has to say the same.
    """
    return [
        one
        for one in measured.changes.values()
        if (one.better if better else one.worse) < SURELY and _shows(one, better=better)
    ]


def _shows(one: Change, *, better: bool) -> bool:
    if not math.isfinite(one.ratio):
        return (one.value < one.reference_value) is better
    if abs(one.ratio - 1.0) < MENTIONED_FROM:
        return False
    # As printed: an end that reads 1.00 says that there may be nothing.
    return round(one.high, 2) < 1.0 if better else round(one.low, 2) > 1.0


def _change(one: Change) -> str:
    return f"{label(one.metric)} {_ratio(one)}"


def _ratio(one: Change) -> str:
    """``0.31 × (0.19 to 0.44)`` or, where one side has nothing, ``0 to 4.2e-05``."""
    if one.value == 0 and one.reference_value > 0:
        return f"{one.reference_value:.3g} to none"
    if not math.isfinite(one.ratio):
        return f"{one.reference_value:.3g} to {one.value:.3g}"
    return f"{one.ratio:.2f} × ({one.low:.2f} to {one.high:.2f})"


def _percent(share: float) -> str:
    """A share as a reader takes it: never 100 % of draws that are a sample."""
    return "over 99.9 %" if share > 0.999 else f"{100 * share:.3g} %"


def _without(choice: Choice) -> str:
    """What the others that were left out would have cost."""
    costs = [
        "lowering what acks=all promises" if choice.weaker else "",
        "losing more acknowledged records" if choice.losing else "",
    ]
    said = " or ".join(filter(None, costs))
    return f" without {said}" if said else ""


def _none_of(candidates: int) -> str:
    """Begins a sentence about candidates that are not better."""
    return "the one other is not" if candidates == 1 else f"none of {candidates} others is"
