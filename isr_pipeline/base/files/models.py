"""Raw data against a pydantic model; every finding in a line of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from isr_pipeline.base.errors import InputError, together
from isr_pipeline.base.files.checks import Check, Path_
from isr_pipeline.base.files.words import close_or_all, dotted, one_line, shown

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Base of everything that is read from a file: immutable, no unknown key, no infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def format_of(raw: object) -> object:
    """Number of the format of a file of ours; the first did not have one, and counts as 1.

    Raises:
        ValueError: it is no mapping.
    """
    if not isinstance(raw, Mapping):
        raise ValueError("a mapping was expected")
    return raw.get("format", 1)


def validated(model: type[Model], raw: Any, where: str, at: Path_ = ()) -> Model:
    """Validate raw data.

    Args:
        model: what it must be.
        raw: as :func:`read_mapping` gave it.
        where: the file, for the error line.
        at: path of ``raw`` within the file.

    Raises:
        InputError: all findings: unknown keys first, then in the order of the fields.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        found = error.errors(include_url=False)
    raise together(_input_errors(model, found, where, at)) from None


def _input_errors(
    model: type[BaseModel], found: Sequence[Any], where: str, at: Path_
) -> list[InputError]:
    """A finding for each place; a key that was only mistyped is not missing as well."""
    unknown = [one for one in found if one["type"] == "extra_forbidden"]
    told: dict[str, InputError] = {}
    meant = set()
    for one in (*unknown, *(one for one in found if one not in unknown)):
        error = _input_error(model, one, where, at)
        parent = error.field.removesuffix(str(one["loc"][-1])) if one["loc"] else ""
        if one["type"] == "extra_forbidden":
            meant |= {parent + name for name in error.allowed.split(", ")}
        elif one["type"] == "missing" and error.field in meant:
            continue
        told.setdefault(error.field, error)
    return list(told.values())


def _input_error(model: type[BaseModel], error: Any, where: str, at: Path_) -> InputError:
    path, inner = _real_path(model, error["loc"])
    context = error.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, InputError):
        return cause  # of another file, which this one names
    given = shown(error["input"])
    kind = error["type"]
    if kind == "extra_forbidden":
        allowed, given = close_or_all(str(path[-1]), names_of(inner)), "unknown key"
    elif kind == "missing":
        allowed, given = allowed_of(inner, str(path[-1])), "missing"
    elif kind == "refused":
        allowed, path = context["allowed"], (*path, *context["at"])
        given = context["given"] or given
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = error["input"].get("kind") if isinstance(error["input"], Mapping) else None
        tags = allowed_kinds(model)
        is_map = isinstance(error["input"], Mapping)
        path = (*path, "kind") if is_map else path
        given = (shown(tag) if "kind" in error["input"] else "missing") if is_map else given
        allowed = ", ".join(tags) if is_map else "a mapping with a kind"
    else:
        allowed = _STRUCTURE.get(kind, one_line(error["msg"]))
    return InputError(where, dotted((*at, *path)), given, allowed)


_STRUCTURE = {
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}


def names_of(model: type[BaseModel]) -> list[str]:
    """Names of a model's fields as they stand in a file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def check_of(model: type[BaseModel], attribute: str) -> Check:
    """Find the check of a field: in its annotation, or in a member of its optional type."""
    field = model.model_fields[attribute]
    inner = [item for part in get_args(field.annotation) for item in get_args(part)]
    return next(item for item in (*field.metadata, *inner) if isinstance(item, Check))


def allowed_of(model: type[BaseModel], name: str) -> str:
    """What may stand in a field."""
    for attribute, field in model.model_fields.items():
        if name in (attribute, field.alias):
            try:
                return check_of(model, attribute).allowed
            except StopIteration:
                return "a list" if "tuple" in str(field.annotation) else "a mapping"
    return "a value"


def allowed_kinds(model: type[BaseModel]) -> list[str]:
    """Tags of the model's discriminated union."""
    return [kind for kind, _ in _tagged(model)]


def _tagged(model: type[BaseModel]) -> list[tuple[str, type[BaseModel]]]:
    return [
        (get_args(one.model_fields["kind"].annotation)[0], one)
        for field in model.model_fields.values()
        for one in _models_in(field.annotation)
        if "kind" in one.model_fields
    ]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [one for part in get_args(annotation) for one in _models_in(part)]


def _real_path(model: type[BaseModel], loc: tuple[str | int, ...]) -> tuple[Path_, type[BaseModel]]:
    """Drop the union tags that pydantic puts into a location, and find the innermost model."""
    path: list[str | int] = []
    inner = model
    tags = dict(_tagged(model))
    for i, part in enumerate(loc):
        last = i == len(loc) - 1
        if part in tags and path and isinstance(path[-1], int) and not last:
            inner = tags[str(part)]
            continue
        for name, field in inner.model_fields.items():
            if part in (name, field.alias):
                models = _models_in(field.annotation)
                if models and not last:
                    inner = models[0]
                path.append(field.alias or name)
                break
        else:
            path.append(part)
    return tuple(path), inner
