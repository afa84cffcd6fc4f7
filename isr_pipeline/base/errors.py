"""What goes wrong for a reason that a person can fix: one line, and an exit status."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

LINE_MAX = 400
"""Characters of a refusal: a person reads it on a terminal."""

_PART_MAX = 75
_MISTAKES_TOLD = 20
_NEAREST = 5
_LISTED = " (docs/scenario-format.md lists them)"


def shortened(text: str, most: int) -> str:
    """Leave out the middle of a text that is longer; what it ends with says more than that."""
    if len(text) <= most:
        return text
    head = (most - 5) // 3
    return f"{text[:head]} ... {text[-(most - 5 - head) :]}"


def _without_list(allowed: str) -> tuple[str, str]:
    """Take off what is said behind a list of names about where all of them are."""
    names, opened, listed = allowed.rpartition(" (")
    if opened and listed.endswith(" lists all keys)"):
        return names, f" ({listed}"
    return allowed, ""


def _nearest(allowed: str, given: str, most: int, listed: str) -> str:
    """Of a long list of words the nearest few to what was given, and how many more there are.

    Args:
        allowed: what is allowed; a list has commas between its words.
        given: what was given instead.
        most: characters.
        listed: where the whole list is; may be empty.
    """
    words = allowed.split(", ")
    if len(allowed) <= most or len(words) <= _NEAREST:
        return shortened(allowed, most)

    def distance(word: str) -> float:
        return -difflib.SequenceMatcher(None, given.casefold(), word.casefold()).ratio()

    near = [
        shortened(word, (most - 60) // _NEAREST - 2)
        for word in sorted(words, key=distance)[:_NEAREST]
    ]
    return f"{', '.join(near)} and {len(words) - _NEAREST} more{listed}"


def _line(where: str, field: str, given: str, allowed: str) -> str:
    place = f"{where}: {field}" if field else where
    return " ".join(f"{place}: {given}; allowed: {allowed}".splitlines())


class InputError(ValueError):
    """Something the user wrote cannot be used.

    Args:
        where: the file (or the option) that holds it.
        field: dotted path of the field, ``""`` if the file as a whole is meant.
        given: what stands there, in words or as the value itself.
        allowed: what may stand there.
        line: of the file where the field stands, the first is 1; 0 if unknown.
    """

    exit_status = 2

    def __init__(self, where: str, field: str, given: object, allowed: str, line: int = 0) -> None:
        self.where = where
        self.field = field
        self.given = given
        self.allowed = allowed
        self.line = line
        super().__init__(where, field, given, allowed, line)

    @property
    def each(self) -> tuple[InputError, ...]:
        """Itself, or the mistakes that it stands for."""
        return (self,)

    def at_line(self, line: int) -> InputError:
        """The same, with its line in the file."""
        return InputError(self.where, self.field, self.given, self.allowed, line)

    def __str__(self) -> str:
        """``FILE:12: faults[2].broker: 1044; allowed: 1001, 1002, 1003``."""
        numbered = f":{self.line}" if self.line else ""
        where = self.where + numbered
        line = _line(where, self.field, str(self.given), self.allowed)
        if len(line) <= LINE_MAX:
            return line
        # A mistyped key is told by its place, a mistyped word by itself.
        mistyped = self.field.rpartition(".")[2] if "unknown" in str(self.given) else self.given
        parts = [shortened(text, _PART_MAX) for text in (self.where, self.field, str(self.given))]
        parts[0] += numbered
        allowed, listed = _without_list(self.allowed)
        if not listed and "verdicts" not in self.where:  # metrics are no words of scenarios
            listed = _LISTED
        room = LINE_MAX - len(_line(parts[0], parts[1], parts[2], ""))
        return _line(parts[0], parts[1], parts[2], _nearest(allowed, str(mistyped), room, listed))


class Mistakes(InputError):
    """Several mistakes of a user, told together: a line each.

    Args:
        each: what is wrong, at least two; attributes are those of the first.
    """

    def __init__(self, *each: InputError) -> None:
        first = each[0]
        super().__init__(first.where, first.field, first.given, first.allowed, first.line)
        self.args = each  # what a copy in another process is made from

    @property
    def each(self) -> tuple[InputError, ...]:
        """All of them, in order."""
        return self.args

    def at_line(self, line: int) -> InputError:
        """Each of them there: none is lost."""
        return Mistakes(*(one.at_line(line) for one in self.each))

    def __str__(self) -> str:
        """The first of them, one a line, and how many there are beyond."""
        told = [str(one) for one in self.each[:_MISTAKES_TOLD]]
        beyond = len(self.each) - len(told)
        return "\n".join([*told, f"and {beyond} more"] if beyond else told)


def together(found: Sequence[InputError]) -> InputError:
    """One error for all that was found; of two at one place the first."""
    each: dict[tuple[str, str], InputError] = {}
    for one in (one for error in found for one in error.each):
        each.setdefault((one.where, one.field), one)
    return next(iter(each.values())) if len(each) == 1 else Mistakes(*each.values())


class BudgetSpent(RuntimeError):
    """A scenario used more events than its budget (exit status 3 on the command line)."""

    exit_status = 3

    def __init__(self, scenario_id: str, budget: int, where: str = "") -> None:
        self.scenario_id = scenario_id
        self.budget = budget
        self.where = where
        super().__init__(scenario_id, budget, where)

    def __str__(self) -> str:
        """Name the file if there is one, the scenario and the budget."""
        place = f"{shortened(self.where, _PART_MAX)}: " if self.where else ""
        return (
            f"{place}scenario {self.scenario_id}: event budget of {self.budget} events spent "
            "before the horizon; allowed: a shorter horizon_ms, less load, "
            "or a larger --event-budget"
        )


class Refused(RuntimeError):
    """An operation that was understood and is refused, with what to do instead (exit status 1)."""

    exit_status = 1


class TableMissing(Refused):
    """A table of a night that is not there (never made, or not finished)."""

    def __init__(self, name: str, experiment: str, night: str) -> None:
        self.name = name
        self.experiment = experiment
        self.night = night
        super().__init__(name, experiment, night)

    def __str__(self) -> str:
        """Name the table and the night."""
        return f"no {self.name} table of experiment {self.experiment}, night {self.night}"


USER_ERRORS = (InputError, Refused, BudgetSpent)
"""Errors that only the user can fix; their text says how, and retrying does not help."""
