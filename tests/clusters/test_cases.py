"""Files and pastes as people have published them, rebuilt with their quirks: `cases/*/case.json`.

A case has runs. Each names its arguments (files of its folder, options), what is expected (accept,
refuse, either), words that a refusal must have (``says``, a pattern), and expressions over the
imported cluster, whose names are those of `tests.clusters.reading.Seen.names`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import LINE_MAX, InputError, Refused
from isr_pipeline.clusters.importing import import_cluster
from tests.clusters.reading import Seen

CASES = Path(__file__).resolve().parent / "cases"


def runs() -> list[Any]:
    """Every run of every case."""
    return [
        pytest.param(file.parent, run, id=f"{file.parent.name}-{run['name']}")
        for file in sorted(CASES.glob("*/case.json"))
        for run in json.loads(file.read_text())["runs"]
    ]


@pytest.mark.parametrize(("folder", "run"), runs())
def test_a_case_is_as_expected(folder: Path, run: dict[str, Any], tmp_path: Path) -> None:
    """Read rightly, told, or refused with words that help."""
    given, release = list(run["args"]), None
    if "--release" in given:
        at = given.index("--release")
        release = given[at + 1]
        del given[at : at + 2]
    features: list[str] = []
    if "--feature" in given:
        at = given.index("--feature")
        features = [given[at + 1]]
        del given[at : at + 2]
    sources = [str(folder / name) for name in given]
    out = tmp_path / "c.yaml"
    try:
        seen = Seen(import_cluster(sources, "case", out=out, release=release, features=features))
    except (InputError, Refused) as refused:
        line = str(refused).replace(f"{folder}/", "")
        assert run["expect"] != "accept", line
        assert re.search(run.get("says") or "", line), line
        assert len(line) <= LINE_MAX
        return
    assert run["expect"] != "refuse"
    for check in run["check"]:
        assert eval(check, seen.names()), f"{check}: {seen.printed}"
