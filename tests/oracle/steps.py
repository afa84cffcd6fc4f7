"""Reading a timeline's steps: every missing or mistyped value is an error that names its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isr_pipeline.base.errors import InputError


class KafkaRefusal(Exception):
    """An operation that Kafka answers with an error.

    Args:
        error: Kafka's name of it, as NOT_LEADER_OR_FOLLOWER.
        returned: what the call hands back beside the error; a call that does is not a failure
            of the timeline even if no error was expected of it.
    """

    def __init__(self, error: str, returned: object = None) -> None:
        self.error = error
        self.returned = returned
        super().__init__(error)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands.

    Args:
        file: the file's name.
        field: ``line 3: timeline[2]``.
    """

    file: str
    field: str

    def at(self, name: str) -> Place:
        """Return the place of a member: ``line 3: timeline[2].op``."""
        separator = "." if self.field and not self.field.endswith(": ") else ""
        return Place(self.file, f"{self.field}{separator}{name}")

    def refuse(self, given: object, allowed: str) -> InputError:
        """Build the error that says what stands here and what may."""
        return InputError(self.file, self.field, given, allowed)


@dataclass(frozen=True, slots=True)
class Step:
    """A mapping of a timeline, read by name and type.

    Args:
        values: the mapping as the file has it.
        place: where it stands.
    """

    values: Mapping[str, Any]
    place: Place

    def has(self, name: str) -> bool:
        """Whether the argument is there and not null."""
        return self.values.get(name) is not None

    def _required(self, name: str, kind: str) -> Any:
        if name not in self.values:
            raise self.place.at(name).refuse("missing", kind)
        return self.values[name]

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number; `default` if it is absent or null."""
        if default is not None and not self.has(name):
            return default
        value = self._required(name, "a whole number")
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.place.at(name).refuse(repr(value), "a whole number")
        return value

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        """Return a truth value; `default` if it is absent or null."""
        if default is not None and not self.has(name):
            return default
        value = self._required(name, "true, false")
        if not isinstance(value, bool):
            raise self.place.at(name).refuse(repr(value), "true, false")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; `default` if it is absent or null."""
        if default is not None and not self.has(name):
            return default
        value = self._required(name, "a text")
        if not isinstance(value, str):
            raise self.place.at(name).refuse(repr(value), "a text")
        return value

    def one_of(self, name: str, allowed: Sequence[str], default: str | None = None) -> str:
        """Return a text that is one of `allowed`."""
        value = self.text(name, default)
        if value not in allowed:
            raise self.place.at(name).refuse(repr(value), ", ".join(allowed))
        return value

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """Return a list of whole numbers; `default` if it is absent or null."""
        if default is not None and not self.has(name):
            return list(default)
        value = self._required(name, "a list of whole numbers")
        plain = isinstance(value, list) and all(
            isinstance(item, int) and not isinstance(item, bool) for item in value
        )
        if not plain:
            raise self.place.at(name).refuse(repr(value), "a list of whole numbers")
        return list(value)

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        value = self._required(name, "a list of texts")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.place.at(name).refuse(repr(value), "a list of texts")
        return list(value)

    def nested(self, name: str) -> Step:
        """Return a member that is itself a mapping."""
        value = self._required(name, "an object")
        if not isinstance(value, dict):
            raise self.place.at(name).refuse(repr(value), "an object")
        return Step(value, self.place.at(name))

    def nested_list(self, name: str) -> list[Step]:
        """Return a member that is a list of mappings."""
        value = self._required(name, "a list of objects")
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.place.at(name).refuse(repr(value), "a list of objects")
        return [Step(item, self.place.at(f"{name}[{i}]")) for i, item in enumerate(value)]
