"""The line reaches whoever is to be told."""

from __future__ import annotations

import pytest

from isr_pipeline.night.notify import configured, tell
from tests.saying import refused

TOLD: list[str] = []

LINE = "smoke 2026-11-19: 1 of 5 configurations regressed"


def note(line: str) -> None:
    """A notifier that remembers."""
    TOLD.append(line)


def fail(line: str) -> None:
    """A notifier whose server does not answer."""
    raise OSError(line)


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    """An empty memory."""
    TOLD.clear()


class TestTell:
    """The hook at the end of a night."""

    def test_environment_names_the_function(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """ISR_PIPELINE_NOTIFY=module:function is imported and called."""
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", f"{__name__}:note")
        tell(LINE)
        assert TOLD == [LINE]

    def test_nobody_is_told_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a notifier nothing happens."""
        monkeypatch.delenv("ISR_PIPELINE_NOTIFY", raising=False)
        tell(LINE)
        assert TOLD == []

    def test_one_that_fails_is_said(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It does not fail the night."""
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", f"{__name__}:fail")
        tell(LINE)
        assert capsys.readouterr().out == f"the notifier failed: {LINE}\n"

    @pytest.mark.parametrize("given", ["nowhere:note", "json:nothing", "json", ":"])
    def test_a_name_of_nothing_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, given: str
    ) -> None:
        """What cannot be called is an input error."""
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", given)
        assert refused(configured) == (
            f"environment: ISR_PIPELINE_NOTIFY: {given}; allowed: package.module:function, a "
            "function of one argument"
        )
