"""What tests with real brokers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from tools.lab.brokers import down
from tools.lab.jars import fetch
from tools.lab.release import Release

Laboratory = Callable[[str], tuple[Home, Release]]


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Laboratory]:
    """Give a state folder of this test with the jars of a release, which are fetched once for all.

    Skips, saying why, where no Java or Maven is, or no network to fetch by.
    """
    kept = Home.from_environment()
    home = Home(tmp_path / "state", str(tmp_path / "state" / "tables"))
    (home.path / "lab").mkdir(parents=True)
    for part in ("releases", "maven"):
        (kept.path / "lab" / part).mkdir(parents=True, exist_ok=True)
        (home.path / "lab" / part).symlink_to(kept.path / "lab" / part)

    def of(name: str) -> tuple[Home, Release]:
        release = Release.parse(name)
        try:
            fetch(home, release)
        except Refused as reason:
            pytest.skip(str(reason))
        return home, release

    yield of
    down(home)
