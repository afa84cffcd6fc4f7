"""Findings: what is simulated, how it is shown, and that the pages show what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.findings import __main__ as program
from benchmarks.findings import neighbours, panel, record, show
from benchmarks.findings.panel import Ratio
from benchmarks.findings.question import QUESTIONS, SHOWN, question
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.configurations import configurations
from tests.tables import from_table

NAN = float("nan")
LAG = question("lag-limit")
OWN = dict.fromkeys(SHOWN, 0.002)
"""What the reference itself has."""


def same(value: float, low: float, high: float) -> dict[str, Ratio]:
    """Every metric with the same ratio."""
    return dict.fromkeys(SHOWN, Ratio(value, low, high))


class TestNumber:
    """One ratio as text."""

    @pytest.mark.parametrize(
        ("ratio", "said"),
        [
            (Ratio(0.466, 0.4, 0.549), "0.47 x (0.40–0.55)"),
            (Ratio(1.5, 0.9, NAN), "1.50 x"),
            (Ratio(0.0, 0.0, 0.0), "never seen"),
            (Ratio(0.002, 0.001, 0.004), "under 0.01 x"),
            (Ratio(NAN, NAN, NAN), "-"),
        ],
    )
    def test_said(self, ratio: Ratio, said: str) -> None:
        """A ratio without an interval claims none; nothing seen is no interval of zeros."""
        assert show.number(ratio) == said

    @pytest.mark.parametrize("ratio", [Ratio(0.0, 0.0, 0.0), Ratio(1.015, 1.01, 1.02)])
    def test_not_clear(self, ratio: Ratio) -> None:
        """What was never seen is no proven gain; as good as 1 is no difference."""
        assert not show.is_clear(ratio)


class TestText:
    """What a person reads."""

    def test_an_interval_around_one_is_no_difference(self) -> None:
        """A sentence names only what the interval leaves clear."""
        found = {"lag-10s": same(1.2, 0.9, 1.5), "lag-20s": same(2.0, 1.5, 2.5)}
        assert show.sentences(LAG, found) == [
            "10 s is better in: nothing; worse in: nothing.",
            (
                "20 s is better in: nothing; "
                "worse in: produce unavailable, offline, ISR flaps, commit p99."
            ),
        ]

    def test_the_reference_is_one(self) -> None:
        """The reference has a row of its own."""
        _, rows = show.cells(LAG, {})
        assert ("30 s (default)", "1", "1", "1", "1") in rows


class TestQuestions:
    """The findings that ship."""

    @pytest.mark.parametrize("name", QUESTIONS)
    def test_every_configuration_has_a_label(self, name: str) -> None:
        """Labels and configurations are the same, in the same order."""
        one = question(name)
        assert [arm.name for arm in configurations(one.experiment)] == list(one.labels)

    @pytest.mark.parametrize("name", QUESTIONS)
    def test_every_finding_is_on_the_page(self, name: str) -> None:
        """The page that the last line names has its table, and its list names it."""
        page = (REPOSITORY / "docs" / "findings.md").read_text()
        assert f"<!-- finding:table:{name}:" in page
        assert f"(#the-{name})" in page

    @from_table
    def test_refused(
        self, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A finding that is not there, and a panel too small, are one line."""
        assert program.main(arguments) == 2
        assert capsys.readouterr().err.strip().endswith(said)


class TestPanel:
    """Simulating."""

    def test_the_reference_is_compared_with_itself_by_nobody(self) -> None:
        """Two scenarios under every configuration give a ratio for each but the reference."""
        experiment = question("stuck-read").experiment.resized(2)
        arms = configurations(experiment)
        rows = [row for part in panel.outcomes(experiment, 1) for row in part]
        assert len(rows) == 2 * len(arms)
        found = panel.ratios(panel.compared(rows, experiment))
        assert list(found) == [arm.name for arm in arms if arm.name != experiment.reference]
        assert found["solution-1"]["produce_unavailable_rate"].value > 0

    @pytest.mark.slow
    def test_the_readme_shows_what_make_finding_prints(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The figures of the README's block come out again, to the last digit."""
        assert program.main(["lag-limit"]) == 0
        said = capsys.readouterr().out.splitlines()
        block = (REPOSITORY / "README.md").read_text().split("<!-- finding:text:lag-limit:800 -->")
        printed = block[1].split("<!-- finding:end -->")[0]
        lines = [line for line in printed.splitlines() if line.strip("`") not in {"", "text"}]
        assert [line for line in lines if line not in said] == []


class TestNeighbours:
    """The stuck read's neighbours, counted."""

    def test_only_partial_stalls_in_a_handler_count(self) -> None:
        """Where all partitions hang there is no neighbour, and a send holds no lock."""
        counts = neighbours.counted(0)
        sizes = {
            (side, number) for (_, side, what), number in counts.items() if what == "all" and number
        }
        assert {side for side, _ in sizes} == {"stuck", "neighbour"}
        assert len(sizes) == 2, "every broker is asked about the same partitions"
        for broker in show.BROKERS:
            for side in ("stuck", "neighbour"):
                for what in ("shrunk", "offline"):
                    assert counts[broker, side, what] <= counts[broker, side, "all"]

    def test_the_table_divides(self) -> None:
        """A cell is the share of the partitions of its side."""
        sides = {
            "stuck": {"all": 10, "shrunk": 1, "offline": 0},
            "neighbour": {"all": 40, "shrunk": 10, "offline": 2},
        }
        line = {
            "counts": dict.fromkeys(show.BROKERS, sides),
            "scenarios": 8,
            "measured_at": "2026-11-24T10:00:00Z",
            "code_version": "x",
        }
        text = "\n".join(show.neighbours_table(line))
        assert "| 2.5 and later | 10.0 % | 25.0 % | 0.0 % | 5.0 % |" in text
        assert "10 stuck partitions and 40 neighbours in a panel of 8 scenarios" in text


class TestRecord:
    """Results and the blocks that show them."""

    @pytest.fixture
    def results(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A file of results of its own."""
        file = tmp_path / "findings.jsonl"
        monkeypatch.setattr(record, "RESULTS", file)
        return file

    def test_the_newest_is_shown(self, results: Path) -> None:
        """A finding that was measured twice shows the second."""
        arms = ("lag-10s", "lag-20s", "lag-60s")
        record.keep("lag-limit", 800, dict.fromkeys(arms, same(1.0, 0.5, 2.0)), OWN)
        record.keep("lag-limit", 800, dict.fromkeys(arms, same(3.0, 2.5, 4.0)), OWN)
        page = "before\n<!-- finding:table:lag-limit:800 -->\nold\n<!-- finding:end -->\nafter\n"
        shown = record.filled(page)
        assert "| 10 s | 3.00 x (2.50–4.00) |" in shown
        assert "30 s (default): produce unavailable 0.002 partition-minutes a year, " in shown
        assert "old" not in shown
        assert record.filled(shown) == shown
        assert json.loads(results.read_text().splitlines()[0])["scenarios"] == 800

    def test_what_was_never_measured_is_refused(self, results: Path) -> None:
        """A block of a panel that nobody ran cannot be filled."""
        results.write_text("")
        with pytest.raises(LookupError, match=r"findings\.jsonl has no lag-limit of 7 scenarios"):
            record.filled("<!-- finding:table:lag-limit:7 -->\n<!-- finding:end -->")

    @pytest.mark.parametrize("page", list(record.pages()), ids=lambda page: page.name)
    def test_pages_show_what_was_measured(self, page: Path) -> None:
        """Every block of README and docs is what the results file gives."""
        text = page.read_text()
        assert record.filled(text) == text
        assert len(re.findall("<!-- finding:(?!end)", text)) == text.count("<!-- finding:end -->")
