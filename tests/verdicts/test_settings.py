"""config/verdicts.yaml: what an operator is told who wrote something that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.verdicts.quantities import VerdictSettings, load_settings, parse_settings

OFFLINE = "leaderless_rate"
GOOD: dict[str, Any] = {
    "metrics": {OFFLINE: {"floor": 1e-5}},
}


def test_the_shipped_file_is_accepted() -> None:
    """What is in the repository can be read."""
    settings = load_settings()
    assert OFFLINE in settings.metrics


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"flips": 10}, "flips: 10; allowed: a whole number 999..999999"),
        ({"flips": True}, "flips: true; allowed: a whole number 999..999999"),
        ({"flips_max": 2000}, "flips_max: 2000; allowed: at least flips (9999)"),
        ({"exact_up_to": 31}, "exact_up_to: 31; allowed: a whole number 1..30"),
        ({"confirm_p": 0}, "confirm_p: 0; allowed: a number > 0 and < 1"),
        (
            {"false_discovery_rate": 5},
            "false_discovery_rate: 5; allowed: a number > 0 and < 1",
        ),
        ({"suspicion_share": 2}, "suspicion_share: 2; allowed: a number >= 0 and <= 1"),
        ({"ratio_min": 1}, "ratio_min: 1; allowed: a number > 1"),
        (
            {"q": 0.1},
            f"q: unknown key; allowed: {', '.join(VerdictSettings.model_fields)}",
        ),
        (
            {"metrics": {}},
            "metrics: nothing; allowed: a mapping of at least one metric to its settings",
        ),
        (
            {"metrics": {"offline": {"floor": 0}}},
            (
                "metrics.offline: unknown metric; allowed: offline_partition_rate, "
                "one_replica_rate, led_under_min_isr_rate, "
                "cold_read_bytes, under_min_isr_rate and 34 more"
            ),
        ),
        (
            {"metrics": {OFFLINE: {"floor": -1}}},
            f"metrics.{OFFLINE}.floor: -1; allowed: a number >= 0",
        ),
        (
            {"metrics": {OFFLINE: {}}},
            f"metrics.{OFFLINE}.floor: missing; allowed: a number >= 0",
        ),
        (
            {"metrics": {OFFLINE: {"floor": 0, "flag": 1}}},
            f"metrics.{OFFLINE}.flag: unknown key; allowed: floor",
        ),
    ],
)
def test_one_line_names_field_value_and_what_is_allowed(wrong: dict[str, Any], line: str) -> None:
    """The first thing that is wrong, in one line."""
    with pytest.raises(InputError) as refusal:
        parse_settings({**GOOD, **wrong}, "verdicts.yaml")
    assert str(refusal.value) == f"verdicts.yaml: {line}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("flips: 1\nflips: 2\n", ":2: flips: given twice; allowed: each key once"),
        ("", ": empty; allowed: one YAML or JSON mapping"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, line: str) -> None:
    """So is one that says the same thing twice."""
    path = tmp_path / "verdicts.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refusal:
        load_settings(path)
    assert str(refusal.value) == f"{path}{line}"


def test_a_file_is_named_as_a_person_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the folder one is in, the path from there."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^config/verdicts\.yaml: no such file"):
        load_settings(tmp_path / "config" / "verdicts.yaml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """No such file is an input error, not a traceback."""
    with pytest.raises(InputError) as refusal:
        load_settings(tmp_path / "verdicts.yaml")
    assert str(refusal.value) == (
        f"{tmp_path}/verdicts.yaml: no such file or directory; "
        "allowed: a readable YAML or JSON file"
    )
