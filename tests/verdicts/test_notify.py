"""The line reaches whoever is to be told."""

from __future__ import annotations

import pytest

from isr_pipeline.errors import InputError
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.notify import announce
from tests.verdicts.synthetic import NIGHT, World

TOLD: list[str] = []

LINE = (
    "synthetic 2026-11-19: no baseline accepted yet (3 configurations); accept this night: "
    "isr-pipeline baseline accept 2026-11-19 --experiment synthetic --why 'REASON'"
)


def note(line: str) -> None:
    """A notifier that remembers."""
    TOLD.append(line)


@pytest.fixture(autouse=True)
def judged(home: object) -> None:
    """A judged night and an empty memory."""
    TOLD.clear()
    judge_night(World(scenarios=5).write(NIGHT))


class TestAnnounce:
    """The hook at the end of a night."""

    def test_callback_gets_the_line(self) -> None:
        """Experiment, night and headline in one line."""
        assert announce("synthetic", NIGHT, note) == LINE
        assert TOLD == [LINE]

    def test_environment_names_the_callback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """ISR_PIPELINE_NOTIFY=module:function is imported and called."""
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", f"{__name__}:note")
        announce("synthetic", NIGHT)
        assert TOLD == [LINE]

    def test_nobody_is_told_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a notifier the line is returned and that is all."""
        monkeypatch.delenv("ISR_PIPELINE_NOTIFY", raising=False)
        assert announce("synthetic", NIGHT) == LINE
        assert TOLD == []

    @pytest.mark.parametrize("given", ["nowhere:note", "json:nothing", "json", ":"])
    def test_a_name_of_nothing_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, given: str
    ) -> None:
        """What cannot be called is an input error."""
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", given)
        with pytest.raises(InputError) as refusal:
            announce("synthetic", NIGHT)
        assert str(refusal.value) == (
            f"environment: ISR_PIPELINE_NOTIFY: {given}; allowed: package.module:function, a "
            "function of one argument"
        )
