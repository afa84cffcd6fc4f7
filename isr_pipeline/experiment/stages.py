"""How many scenarios a night may add where it cannot decide: stages, within a budget.

The first stage is the confirm panel. The later ones go on with its sequence, so that the scenarios
of some stages together are a panel of their own, independent of the standing panel that chose
what they are asked about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from isr_pipeline.base.files.checks import number, whole
from isr_pipeline.base.files.models import Strict

PANEL_SIZE_MAX = 100_000
"""Scenarios of a standing panel that a run may be asked for."""

SCENARIOS_MAX = 1_000_000
"""Scenarios of one configuration over all panels that a budget may have."""

CONFIRM = "confirm"
FURTHER = ("further-1", "further-2")
"""Stages beyond the confirm panel, each at most; their names are those of their panels."""

BASELINE_SIDE = "-baseline"
"""Ends the name of a panel whose outcomes are those of the baseline's code and settings."""


class Budget(Strict):
    """What a night may spend on what it cannot decide."""

    scenarios: Annotated[int, whole(1, SCENARIOS_MAX)] = Field(
        default=4_000,
        description="Of one configuration over all its panels; at least the regression and the "
        "confirm panel together.",
    )
    minutes: Annotated[
        float, number(0, 1440, "a number > 0 and <= 1440", low_open=True, high_too=True)
    ] = Field(
        default=30,
        description="Time limit, after which no stage goes on; a fast machine never reaches it.",
    )


class Stage(Strict):
    """Scenarios that are simulated together for what is not decided.

    Attributes:
        panel: their panel in the tables.
        first: place of the first of them in the sequence of the confirm panel.
        end: place after the last.
    """

    panel: str
    first: int
    end: int

    @property
    def scenarios(self) -> int:
        """How many."""
        return self.end - self.first


def planned_stages(panels: Mapping[str, int], budget: Budget) -> tuple[Stage, ...]:
    """The stages of a night: each ends with a constant factor more scenarios than the last.

    Args:
        panels: panel -> number of scenarios.
        budget: of the experiment; where it is spent by the two panels there is no further stage,
            and none at all without a confirm panel.
    """
    size, most = panels.get(CONFIRM, 0), budget.scenarios - panels["regression"]
    if size == 0:
        return ()
    steps = len(FURTHER) if most >= 2 * size else 1
    factor = max(1.0, most / size)
    ends = [round(size * math.pow(factor, step / steps)) for step in range(steps + 1)]
    stages = [Stage(panel=CONFIRM, first=0, end=size)]
    for panel, first, end in zip(FURTHER[:steps], ends[:-1], ends[1:], strict=True):
        if end > first:
            stages.append(Stage(panel=panel, first=first, end=end))
    return tuple(stages)
