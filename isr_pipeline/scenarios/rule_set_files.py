"""Rule-set files: ``cluster.release`` may name one instead of a release.

A file says a release to start from and the switches that differ::

    description: What if a replica below min ISR could join only while its lag is within the limit?
    base: 3.7-3.9
    switches: {expand_needs_lag: under_min_isr}

``cluster.release: 3.9.1``, a release of Kafka, is the rule set that it has
(`isr_pipeline.kafka.release_numbers`). ``cluster.release: joins-in-time`` finds
``config/rule-sets/joins-in-time.yaml``; a value that ends in ``.yaml`` or ``.yml`` is a path,
relative to the file that names it. Reading replaces the name by the text that holds the whole rule
set (`isr_pipeline.kafka.own_rules`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import MAPPING, Bad, Check, text
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.words import shown
from isr_pipeline.base.home import config_dir
from isr_pipeline.kafka.own_rules import RuleSetError, allowed_for_release, rule_set_of, text_of
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.releases import RELEASES, RULE_SETS

ENDINGS = (".yaml", ".yml")


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Bad("a mapping of switches to values")
    return value


_SWITCHES = Check("a mapping of switches to values", _mapping, MAPPING)
_WORDS = text(r"(?s).{0,2000}", "a text of at most 2000 characters")


class RuleSetFile(Strict):
    """The file as it is written."""

    description: Annotated[str, _WORDS] = Field(default="", description="What it asks.")
    base: Annotated[str, text(r".+", ", ".join(RELEASES))] = Field(
        description="The release's rule set that it starts from. Kafka's keys have its defaults, "
        "unless `key_defaults` says another."
    )
    switches: Annotated[dict[str, Any], _SWITCHES] = Field(
        default={}, description="Switch -> value, at least one that the base does not have."
    )


def _release(value: Any) -> str:
    if not isinstance(value, str):
        raise Bad(", ".join(release_names()))
    try:
        rule_set_of(value)
    except RuleSetError as error:
        allowed = error.allowed if error.field else allowed_for_release(value, release_names())
        raise Bad(allowed) from None
    return value


RELEASE = Check("a release or a rule set of one's own", _release)
"""Check of ``cluster.release`` after files were read."""


def release_names() -> list[str]:
    """Names that ``cluster.release`` knows: the releases, then the files in config/rule-sets."""
    folder = config_dir() / "rule-sets"
    return [*RELEASES, *sorted(path.stem for path in folder.glob("*.yaml"))]


def read_rule_set(path: Path, where: str) -> str:
    """Read a rule-set file: the text that holds all of it.

    Args:
        path: the file; its name without the ending names the rule set, and may be no release's.
        where: how error lines call it.

    Raises:
        InputError: the first thing in it that cannot be used.
    """
    try:
        raw = read_mapping(path)
    except InputError as error:
        raise InputError(where, error.field, error.given, error.allowed) from None
    written = validated(RuleSetFile, raw, where)
    if rule_set_text(path.stem) is not None:
        allowed = "a name that does not begin with a release's number"
        raise InputError(where, "name", path.stem, allowed)
    try:
        return text_of(path.stem, written.base, written.switches)
    except RuleSetError as error:
        given = "missing" if error.given is None else error.given
        given = given if given == "unknown switch" or error.given is None else shown(given)
        raise InputError(where, error.field, str(given), error.allowed) from None


def with_rule_sets(raw: Any, folder: Path) -> Any:
    """Replace every ``cluster.release`` that names a file by what the file holds.

    Args:
        raw: a scenario, cluster or experiment file as read: ``cluster: {release: ...}`` and
            ``cluster.release: ...`` (a value, or a grid's values) are looked for everywhere in it.
        folder: of the file, where relative paths begin.

    Raises:
        InputError: a rule-set file that cannot be used.
    """
    if isinstance(raw, list):
        return [with_rule_sets(one, folder) for one in raw]
    if not isinstance(raw, dict):
        return raw
    changed = {key: with_rule_sets(value, folder) for key, value in raw.items()}
    cluster = changed.get("cluster")
    if isinstance(cluster, dict) and "release" in cluster:
        changed["cluster"] = {**cluster, "release": release_named(cluster["release"], folder)}
    release = changed.get("cluster.release")
    if isinstance(release, dict) and isinstance(release.get("values"), list):
        values = [release_named(one, folder) for one in release["values"]]
        changed["cluster.release"] = {**release, "values": values}
    elif release is not None:
        changed["cluster.release"] = release_named(release, folder)
    return changed


def release_named(value: Any, folder: Path) -> Any:
    """A rule set's name, or what a release's number or a file stands for; other values stay.

    Raises:
        InputError: a rule-set file that cannot be used.
    """
    if isinstance(value, float):
        value = str(value)  # 3.9 without quotes
    if not isinstance(value, str):
        return value
    if value.endswith(ENDINGS):
        path = folder / value
        return read_rule_set(path, str(path))
    path = config_dir() / "rule-sets" / f"{value}.yaml"
    if "/" not in value and _is_file(path):  # before the releases: one of their names is refused
        return read_rule_set(path, str(path))
    if value in RULE_SETS:
        return value
    return rule_set_text(value) or value


def _is_file(path: Path) -> bool:
    """Whether there is such a file; a name too long for one is none."""
    try:
        return path.is_file()
    except OSError:
        return False
