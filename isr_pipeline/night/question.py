"""What a run is asked beside the experiment's file, and whether its date was asked the same before.

A run of another standing panel cannot be compared with what its date has. In its place it would
hide what got worse, so it is refused unless a person says that it may replace that.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.experiment.stages import PANEL_SIZE_MAX, SCENARIOS_MAX
from isr_pipeline.night.status import WITHOUT_VERDICT, nights, whole_run

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan


@dataclass(frozen=True, slots=True)
class Question:
    """What a run is asked.

    Attributes:
        panel_size: scenarios of the standing panel; None: as the experiment says.
        scenarios: budget of one configuration over all panels; None: as the experiment says.
        replace: whether it may take the place of a night of another panel.
    """

    panel_size: int | None = None
    scenarios: int | None = None
    replace: bool = False

    def check(self) -> Question:
        """Give it back where its numbers can be used at all.

        Raises:
            InputError: one is out of range.
        """
        for option, given, most in (
            ("--panel-size", self.panel_size, PANEL_SIZE_MAX),
            ("--scenarios", self.scenarios, SCENARIOS_MAX),
        ):
            if given is not None and not 1 <= given <= most:
                raise InputError(option, "", given, f"1..{most}")
        return self


AS_WRITTEN = Question()
"""Nothing beside what the experiment says."""


def refuse_another_panel(plan: Plan) -> None:
    """Ask whether a run may become the night of its date.

    Raises:
        Refused: the date has a verdict on other scenarios, and nobody said to replace it.
    """
    from isr_pipeline.experiment.plan import Plan as Known  # noqa: PLC0415 - reads pydantic

    whole = whole_run(plan.experiment, plan.night)
    if plan.replace or whole is None or whole.status.state in WITHOUT_VERDICT:
        return
    try:
        before = Known.load(whole.folder / "plan.json")
    except InputError:
        return
    if (before.panel_digest, before.confirm_digest) != (plan.panel_digest, plan.confirm_digest):
        raise Refused(
            f"night {plan.night} of {plan.experiment} was judged on other scenarios (panel "
            f"{before.panel_digest[:12]}, now {plan.panel_digest[:12]}), so the two cannot be "
            f"compared; give a date without a night, --night {_free(plan)}, or --replace"
        )


def _free(plan: Plan) -> str:
    """The last date before a night's that has none."""
    taken = {night for _, night in nights(plan.experiment)}
    day = date.fromisoformat(plan.night)
    while day.isoformat() in taken:
        day -= timedelta(days=1)
    return day.isoformat()
