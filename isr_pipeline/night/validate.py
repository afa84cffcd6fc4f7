"""A night checked again: the expectations that its run had to hold, and its files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.tables.validation.data_docs import CHECKED_TABLES, CRITICAL, FILES, Broken
from isr_pipeline.tables.validation.run import checked, told

if TYPE_CHECKING:
    from isr_pipeline.base.storage.places import Place


@dataclass(frozen=True, slots=True)
class Validated:
    """What a night holds today.

    Attributes:
        plan: of the night.
        held: suite -> how many of its expectations hold, and how many it has.
        broken: suite -> those that do not.
        docs: the night's page in Data Docs.
    """

    plan: Plan
    held: dict[str, tuple[int, int]]
    broken: dict[str, list[Broken]]
    docs: Place

    @property
    def refused(self) -> bool:
        """Whether nothing may be concluded from it."""
        return any(one.severity == CRITICAL for each in self.broken.values() for one in each)

    def lines(self) -> list[str]:
        """A line for each suite and for each expectation that does not hold, then where to look."""
        made = f"made by version {self.plan.version} ({self.plan.code_version})"
        lines = [f"night {self.plan.night} of {self.plan.experiment}, {made}"]
        for suite, (held, of) in self.held.items():
            lines.append(f"{suite:<9}  {held} of {of} held")
            lines += [f"  {told(one)}" for one in self.broken[suite]]
        return [*lines, f"Data Docs: {self.docs}"]

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        suites = {
            suite: {"held": held, "of": of, "broken": [asdict(one) for one in self.broken[suite]]}
            for suite, (held, of) in self.held.items()
        }
        night = {"night": self.plan.night, "experiment": self.plan.experiment}
        return {**night, "refused": self.refused, "suites": suites, "data_docs": str(self.docs)}


def plan_of(experiment: str, night: str) -> Plan:
    """The plan of a night whose tables lie in this home, which may have moved since.

    Raises:
        InputError: it never got one.
    """
    return Plan.of_night(experiment, night).model_copy(
        update={"root": Home.from_environment().root}
    )


def validate(plan: Plan) -> Validated:
    """Check a night's files and tables as they lie.

    Raises:
        StoreError: the object store that they lie in does not answer.
    """
    found = {suite: checked(suite, plan) for suite in (FILES, *CHECKED_TABLES)}
    held = {suite: (of - len(broken), of) for suite, (broken, of, _) in found.items()}
    broken = {suite: one[0] for suite, one in found.items()}
    return Validated(plan, held, broken, found[FILES][2])
