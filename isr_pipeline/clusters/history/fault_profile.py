"""The nightly fault profile, with what a history counted in the place of its estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.whole import write_asked
from isr_pipeline.base.files.words import flow, shown
from isr_pipeline.base.home import config_dir
from isr_pipeline.clusters.history.counts import History, Rate
from isr_pipeline.clusters.importing import NAME
from isr_pipeline.scenarios.profile import FaultProfile, load_profile

BASE = "nightly"
_DIGITS = 4


def place(name: str) -> Path:
    """Where a new fault profile of this name goes.

    Raises:
        InputError: no name of a file, or one that is taken.
    """
    try:
        NAME.read(name)
    except ValueError:
        raise InputError("--name", "", shown(name), NAME.allowed) from None
    path = config_dir() / "faults" / f"{name}.yaml"
    if path.exists():
        raise InputError("--name", "", f"{name}, which there is ({path})", "a new name")
    return path


def per_year(profile: FaultProfile, rate: Rate) -> tuple[float, str]:
    """What a profile says of a kind that was looked for: how often, and why.

    Where nothing was counted the estimate stays as long as the interval has it; beyond that the
    interval's end is the most that still fits.
    """
    low, high = (float(f"{end:.3g}") for end in rate.interval)
    watched = f"{rate.count} in {rate.years * 365.25:.3g} {rate.of}-days, 95 % {low:g} to {high:g}"
    if rate.count:
        return float(f"{rate.per_year:.{_DIGITS}g}"), f"Counted: {watched}."
    estimate = profile.incidents[rate.kind].per_year
    if estimate <= high:
        return estimate, f"An estimate, as in {BASE}; counted: {watched}."
    return high, f"Counted: {watched}; the estimate of {BASE}, {estimate:g}, is more."


def write(history: History, path: Path, sources: int) -> dict[str, float]:
    """Write the nightly profile with the numbers of a history.

    Returns:
        Kind -> how often a year it comes to each broker or disk, as written.

    Raises:
        InputError: it cannot be written there.
    """
    base = config_dir() / "faults" / f"{BASE}.yaml"
    raw = read_mapping(base)
    profile = load_profile(raw, str(base))
    written: dict[str, float] = {}
    for kind, rate in history.rates().items():
        if kind in profile.incidents and profile.incidents[kind].of == rate.of:
            written[kind], why = per_year(profile, rate)
            raw["incidents"][kind] |= {"per_year": written[kind], "why": why}
    begin, end = (datetime.fromtimestamp(ms / 1000, UTC).date() for ms in history.span)
    raw["description"] = (
        f"{BASE}, with what was counted from {begin} to {end} in {sources} sources."
    )
    load_profile(raw, str(path))
    write_asked(path, "\n".join(_lines(raw)) + "\n", "--name")
    return written


def _lines(raw: Mapping[str, Any]) -> Iterator[str]:
    yield "# yaml-language-server: $schema=../schemas/faults.json"
    yield f"description: {flow(raw['description'])}"
    for part in ("incidents", "strata", "parameters"):
        yield f"{part}:"
        for name, value in raw[part].items():
            yield f"  {name}: {flow(value)}"
