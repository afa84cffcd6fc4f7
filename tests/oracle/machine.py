"""What every machine of a timeline is: operations by name, and a state to look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from tests.oracle.steps import Step
from tests.oracle.variants import Settings

Operation = Callable[[Step, int], object]
"""One operation: its arguments and the time; what it returns. May raise KafkaRefusal."""

State = dict[str, Any]


class Machine(ABC):
    """A piece of Kafka that a timeline drives.

    Args:
        settings: the timeline's variant and config.
    """

    ordered_keys: frozenset[str] = frozenset()
    """Keys of the state whose lists have an order that means something."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rules = settings.rules

    @abstractmethod
    def operations(self) -> Mapping[str, Operation]:
        """Every operation by the name that a step's `op` uses."""

    @abstractmethod
    def state(self, now: int) -> State:
        """The state at time `now`, under the names that `expect` uses."""


def nothing(_step: Step, _now: int) -> None:
    """Let time pass (`nop`)."""
