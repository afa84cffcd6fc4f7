"""Public reports that are scenarios (`tests/cases`): how many, and which do not agree."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML

from isr_pipeline.base.home import REPOSITORY

FOLDER = REPOSITORY / "tests" / "cases"


def counted() -> str:
    """How many reports are compared, and in how many releases."""
    files = [raw for _, raw in _files()]
    compared = [one for raw in files for one in raw.get("expect", [])]
    runs = [release for one in compared for release in one["releases"]]
    wrong = [release for one in compared if "not_yet" in one for release in one["releases"]]
    return (
        f"{len(files)} reports are cases, compared {len(runs)} times in "
        f"{len(set(runs))} releases; {len(wrong)} times the simulator is known to be wrong."
    )


def apart() -> list[tuple[str, str, str]]:
    """(case, releases, why): what cannot be compared, and where the simulator is wrong."""
    rows = []
    for name, raw in _files():
        if "not_compared" in raw:
            what = "not compared in part" if "expect" in raw else "not compared"
            rows.append((name, what, raw["not_compared"].strip()))
        wrong: dict[str, list[str]] = {}
        for one in raw.get("expect", []):
            if "not_yet" in one:
                wrong.setdefault(one["not_yet"], []).extend(one["releases"])
        rows += [
            (name, f"wrong in {', '.join(dict.fromkeys(releases))}", why)
            for why, releases in wrong.items()
        ]
    return [(f"`{name}`", what, f"{why[0].upper()}{why[1:]}.") for name, what, why in rows]


def _files() -> list[tuple[str, dict[str, Any]]]:
    """Each case's name and file."""
    yaml = YAML(typ="safe")
    return [(file.stem, yaml.load(file)) for file in sorted(FOLDER.glob("*.yaml"))]
