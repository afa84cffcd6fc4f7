"""What README and docs claim is so: commands, options, targets, files, keys, figures."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks import verdict_example
from benchmarks.coverage import __main__ as coverage
from isr_pipeline.cli import app
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.worlds.run import run
from tools import answers, example_night
from tools.lab.__main__ import app as lab_app

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
COMMANDS = typer.main.get_command(app)
LABORATORY = typer.main.get_command(lab_app)

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_OURS = {
    *("benchmarks", "config", "dags", "docs", "examples", "expectations", "isr_pipeline"),
    *("spark_jobs", "tests", "tools", ".ci", ".github"),
}

OTHER_KEYS = {
    # Of clients, of security, or refused proposals' names; no scenario reads them.
    "delivery.timeout.ms",
    "fetch.max.wait.ms",
    "follower.fetch.reads.insync.enable",
    "initial.broker.registration.timeout.ms",
    "inter.broker.protocol.version",
    "metadata.log.dir",
    "metadata.max.age.ms",
    "metadata.max.retention.ms",
    "retry.backoff.ms",
}
"""Words like Kafka's keys that the simulator does not know, and need not."""

MADE_LATER = {
    "config/clusters/mine.yaml",
    "config/experiments/lag.yaml",
    "config/faults/ours.yaml",
    "config/experiments/tutorial-lag.yaml",
    "config/rule-sets/quick-ticks.yaml",
    "isr_pipeline/shipped",
}
"""Files that a page tells its reader to write, and the folder that only a wheel has."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A piece of a page: a code span, or a line of a fenced block.

    Attributes:
        page: relative to the checkout.
        text: without back-quotes or prompt.
    """

    page: str
    text: str


def spans() -> Iterator[Claim]:
    """Every code span of every page, outside fenced blocks."""
    for page in PAGES:
        text = _FENCE.sub("", page.read_text(encoding="utf-8"))
        for found in _SPAN.finditer(text):
            yield Claim(str(page.relative_to(ROOT)), found[1].strip())


def console_lines() -> Iterator[Claim]:
    """Every command of a fenced block: lines with a prompt, continued ones joined."""
    for page in PAGES:
        for block in _FENCE.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("$ "):
                    yield Claim(str(page.relative_to(ROOT)), line[2:].split("  #")[0].strip())


def commands(program: str) -> list[Claim]:
    """Claims that call a program, from its name on."""
    called = re.compile(rf"(?:^|[\s;&|/]){re.escape(program)}(?=\s|$)")
    found = []
    for claim in [*spans(), *console_lines()]:
        for match in called.finditer(claim.text):
            rest = re.split(r"[;&|]", claim.text[match.end() :])[0]
            found.append(Claim(claim.page, rest.strip()))
    return found


def words_of(text: str) -> list[str]:
    """A command's words, as a shell has them."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def problem_of(words: list[str], command: Any = COMMANDS) -> str:
    """What is wrong with the words after `isr-pipeline`; empty if nothing is."""
    rest = list(words)
    while (below := getattr(command, "commands", None)) and rest and re.match(r"[a-z]", rest[0]):
        if rest[0] not in below:
            return f"no command {rest[0]}"
        command = below[rest.pop(0)]
    if command.context_settings.get("ignore_unknown_options"):
        return ""
    allowed = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    allowed.add("--help")
    unknown = [
        name
        for name in re.findall(r"(?<!\S)\[?(--[a-z][a-z-]*)", " ".join(rest))
        if name not in allowed
    ]
    return f"no option {', '.join(unknown)}" if unknown else ""


class TestCommands:
    """What can be typed."""

    @pytest.mark.parametrize(
        ("program", "root"), [("isr-pipeline", COMMANDS), ("python -m tools.lab", LABORATORY)]
    )
    def test_commands_of_ours_exist(self, program: str, root: Any) -> None:
        """Every command of a program, and every option of it."""
        told = [(claim, problem_of(words_of(claim.text), root)) for claim in commands(program)]
        assert [f"{one.page}: {program} {one.text}: {why}" for one, why in told if why] == []

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_commands_can_be_pasted(self, page: Path) -> None:
        """A page says how the program is found before it types `isr-pipeline`."""
        text = page.read_text(encoding="utf-8")
        if page.name == "deploy.md":  # before that the program is installed where it is found
            text = text[text.index("\n## Without Airflow") :]
        typed = text.find("\n$ isr-pipeline")
        assert typed < 0 or "\n$ source .venv/bin/activate\n" in text[: typed + 1]

    def test_the_check_sees_a_wrong_command(self) -> None:
        """A command and an option that are not there are told."""
        assert problem_of(["nights", "list"]) == "no command nights"
        assert problem_of(["night", "list", "--every"]) == "no option --every"
        assert problem_of(["night", "show", "NIGHT", "[--json]"]) == ""

    def test_targets_exist(self) -> None:
        """Every target and every variable of a `make` command."""
        text = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
        variables = set(re.findall(r"^([A-Z_]+) \?=", text, re.MULTILINE)) | {"PYTHON"}
        told = [(one, word) for one in commands("make") for word in words_of(one.text)]
        wrong = [
            f"{one.page}: make {one.text}: {word}"
            for one, word in told
            if (re.fullmatch(r"[a-z-]+", word) and word not in targets)
            or (re.match(r"[A-Z_]+=", word) and word.partition("=")[0] not in variables)
        ]
        assert wrong == []

    def test_modules_exist(self) -> None:
        """Every `python -m` of ours, with options that its source names."""
        wrong = []
        for claim in commands("python -m"):
            name, *rest = words_of(claim.text) or [""]
            if name.split(".")[0] not in {"benchmarks", "tests", "isr_pipeline", "tools"}:
                continue
            place = ROOT.joinpath(*name.split("."))
            files = [place.with_suffix(".py"), *place.glob("*.py")]
            source = "".join(file.read_text() for file in files if file.is_file())
            if not source:
                wrong.append(f"{claim.page}: no module {name}")
            wrong += [
                f"{claim.page}: {name} has no option {word}"
                for word in rest
                if word.startswith("--") and f'"{word.split("=")[0]}"' not in source
            ]
        assert wrong == []


class TestPlaces:
    """What is named is there."""

    def test_files_and_folders_exist(self) -> None:
        """Every path that begins with a folder of the checkout."""
        wrong = []
        for claim in spans():
            path = claim.text.split(":")[0].rstrip("/")
            if path.split("/")[0] not in _OURS or "/" not in path or re.search(r"[A-Z ]{4}", path):
                continue
            if path in MADE_LATER or re.search(r"[<>{}…]", path):
                continue
            if not any(ROOT.glob(path)):
                wrong.append(f"{claim.page}: {path}")
        assert wrong == []

    def test_variables_are_read(self) -> None:
        """Every ISR_PIPELINE_… variable is one that the code reads."""
        files = [
            file
            for folder in ("isr_pipeline", "tools", "dags", "tests", "benchmarks")
            for file in (ROOT / folder).rglob("*")
            if file.suffix in {".py", ".sh", ".md"} and file != Path(__file__)
        ]
        files += [ROOT / "Dockerfile", ROOT / "docker-compose.yaml", ROOT / "Makefile"]
        read = set(re.findall(r"ISR_PIPELINE_[A-Z_]+", "".join(f.read_text() for f in files)))
        pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
        assert set(re.findall(r"ISR_PIPELINE_[A-Z_]*[A-Z]", pages)) <= read

    def test_keys_are_kafkas(self) -> None:
        """Every word like a key of Kafka is one that the simulator knows."""
        wrong = set()
        for claim in spans():
            name = re.split(r"[=: ]", claim.text)[0].removeprefix("topics.")
            like_a_key = re.fullmatch(r"[a-z]+(\.[a-z]+){2,}", name)
            ours = name.startswith(
                ("ssl.", "sasl.", "isr_", "benchmarks.", "spark.", "org.", "numba.")
            )
            if like_a_key and not ours and name not in KEYS and name not in OTHER_KEYS:
                wrong.add(f"{claim.page}: {name}")
        assert sorted(wrong) == []


class TestFigures:
    """Numbers that a file of ours knows."""

    def test_the_experiments_page_says_when_each_was_asked(self) -> None:
        """It has what was kept last; if not: python -m tools.answers --write."""
        assert answers.PAGE.read_text(encoding="utf-8") == answers.filled()

    def test_the_newest_answer_is_shown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every configuration that was asked has a row; an older answer is none."""
        kept = [json.loads(line) for line in answers.KEPT.read_text().splitlines()]
        line = [one for one in kept if one.get("experiment") == "operators"][-1]
        monkeypatch.setattr(answers, "KEPT", tmp_path / "kept.jsonl")
        for digest in ("older", load_experiment("operators").digest):
            answers.KEPT.write_text(json.dumps({**line, "experiment_digest": digest}))
            shown = answers.table("operators")
            assert ("not since" in shown) == (digest == "older")
        assert line["measured_at"][:10] in shown
        assert "| `today` |" in shown

    def test_the_printed_night_is_the_kept_one(self) -> None:
        """Operations print the night that `make pictures` kept, as a terminal shows it today."""
        page = example_night.PAGE.read_text(encoding="utf-8")
        assert f"<!-- output:nightly -->\n{example_night.block()}" in page

    def test_joins_in_time_does_what_its_page_says(self) -> None:
        """Its table has the shrinks of w12 and the time below min ISR, under both rule sets."""
        file = ROOT / "isr_pipeline/scenarios/library/w12.yaml"
        seen = []
        for settings in ([], ["cluster.release=joins-in-time"]):
            result = run(load_scenario(file, settings), events=True)
            shrinks = [event for event in result.events if event["kind"] == "isr_shrink"]
            seen.append((len(shrinks), 100 * result.outcome["under_min_isr_rate"]))
        (shrinks_before, time_before), (shrinks_after, time_after) = seen
        page = (ROOT / "docs" / "own-proposal.md").read_text(encoding="utf-8")
        assert f"| `isr_shrink` events | {shrinks_before} | {shrinks_after} |" in page
        assert f"under min ISR | {time_before:.1f} % | {time_after:.1f} % |" in page

    def test_the_tutorials_scenario_is_as_the_tutorial_tells(self) -> None:
        """The demo cluster's scenario 138: offline at 12 s, not at 60 s; what producers pay."""
        experiment = load_experiment("demo-cluster").resized(200)
        row = draw_scenario(experiment.source, "regression", 138)
        scenario = scenario_from_json(row.scenario_json)
        page = (ROOT / "docs" / "your-cluster.md").read_text(encoding="utf-8")
        limits: list[dict[str, Any]] = [{}, {"replica.lag.time.max.ms": 60000}]
        outcomes = [run(apply(scenario, one)).outcome for one in limits]
        for metric in ("offline_partition_rate", "produce_unavailable_rate"):
            today, longer = (f"{100 * one[metric]:.1f} %".replace("0.0 %", "0") for one in outcomes)
            words = metric.removesuffix("_rate").removesuffix("_partition").replace("_", " ")
            assert f"| {words}, share of partition-time | {today} | {longer} |" in page

    def test_the_followed_regression_is_as_the_page_tells(self) -> None:
        """docs/verdicts.md: how many scenarios got worse, and the ratios on either panel."""
        page = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
        for panel, words in (
            ("regression", "All {worse} got worse."),
            (
                "regression",
                "have the ratio {all} on this panel, and {inside} in the stratum `offline`.",
            ),
            ("confirm", "There {worse} got worse: ratio {all}, in the stratum {inside}."),
        ):
            found = verdict_example.pairs(panel)
            worse = verdict_example.risen(found)
            inside = [pair for pair in found if pair.stratum == verdict_example.STRATUM]
            assert (len(found), len(inside)) == (48, 24)
            assert {pair.stratum for pair in worse} == {"offline", "follower"}
            assert all(pair in worse for pair in inside)
            ratios = [f"{verdict_example.ratio(one):.2f}" for one in (found, inside)]
            assert words.format(worse=len(worse), all=ratios[0], inside=ratios[1]) in page

    def test_the_intervals_table_is_the_last_measurement(self) -> None:
        """docs/project/detection.md shows the last line of coverage.jsonl."""
        page = coverage.PAGE.read_text(encoding="utf-8")
        assert coverage.filled(page) == page
