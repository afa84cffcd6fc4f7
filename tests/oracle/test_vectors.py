"""The vectors that came with the sources, and the form of what a timeline gives back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from tests.oracle import MACHINES, replay_file, replay_vector
from tests.oracle.__main__ import main
from tests.saying import refused
from tests.tables import from_table

VECTORS = Path(__file__).parent.parent / "data" / "oracle" / "vectors.jsonl"
TIMELINES: list[dict[str, Any]] = [
    json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()
]

NOP = {"id": "n", "machine": "replica", "variant": "3.7-3.9", "timeline": [{"t": 1, "op": "nop"}]}


class TestVectors:
    """Every timeline of the file, by its id."""

    def test_count(self) -> None:
        """None is lost, and no two have one id."""
        assert len({vector["id"] for vector in TIMELINES}) == len(TIMELINES) == 361

    @pytest.mark.parametrize("vector", TIMELINES, ids=lambda vector: vector["id"])
    def test_passes(self, vector: dict[str, Any]) -> None:
        """Every expectation of the timeline holds, and what is shown of it is plain JSON."""
        result = replay_vector(vector, 1)
        assert result["mismatch"] == []
        assert result["passed"] is True
        assert json.loads(json.dumps(result)) == result

    @pytest.mark.parametrize("release", ["3.7-3.9", "4.0", "4.1+"])
    def test_what_is_claimed_of_3_7_and_later_holds_for_each(self, release: str) -> None:
        """Kafka's tests of the rules since 3.7, and of no release, are met by every later one."""
        modes = {"3.7-3.9": {}, "2.3+": {}, "2.5+": {}, "2.7+": {}, "kraft": {"mode": "kraft"}}
        claimed = [
            vector | {"variant": release, "config": vector["config"] | modes[vector["variant"]]}
            for vector in TIMELINES
            if vector["variant"] in modes
        ]
        assert len(claimed) == 209
        # The one that fails says what 2.3 and 2.4 had not: DeadThreadCount came in 2.5.
        assert [vector["id"] for vector in claimed if not replay_vector(vector, 1)["passed"]] == [
            "fetcher_mgr.FetcherManager.metrics_by_release[2.3+-0-None]"
        ]

    @pytest.mark.parametrize("machine", MACHINES)
    def test_every_machine_is_met(self, machine: str) -> None:
        """Every machine has at least one timeline."""
        assert machine in {vector["machine"] for vector in TIMELINES}


class TestResult:
    """What one timeline gives back."""

    def test_keys(self) -> None:
        """Four keys, in this order."""
        assert list(replay_vector(NOP, 1)) == ["id", "passed", "state", "mismatch"]

    def test_nothing_expected(self) -> None:
        """Without an expectation `passed` is null."""
        assert replay_vector(NOP, 1)["passed"] is None

    def test_unmet(self) -> None:
        """A mismatch says where, what was expected, and what was met."""
        result = replay_vector(NOP | {"expect": {"leo": 3}}, 1)
        assert result["passed"] is False
        assert result["mismatch"] == ["end: leo: 3 expected, -1 met"]

    def test_unknown_state_key(self) -> None:
        """A key that the state has not is a mismatch, not null."""
        result = replay_vector(NOP | {"expect": {"lso": None}}, 1)
        assert result["mismatch"] == ["end: lso: None expected, nothing of that name met"]

    def test_true_is_not_one(self) -> None:
        """A truth value is no number."""
        assert replay_vector(NOP | {"expect": {"pending": 0}}, 1)["passed"] is False

    def test_step_is_named(self) -> None:
        """A step's own expectation names the step."""
        steps = [{"t": 1, "op": "nop", "expect": {"start": 0}}]
        result = replay_vector(NOP | {"timeline": steps}, 1)
        assert result["mismatch"] == ["timeline[0]: start: 0 expected, -1 met"]

    def test_unexpected_error(self) -> None:
        """An error that nobody expected is a mismatch."""
        fetch = {"op": "fetch", "t": 1, "offset": 0, "leader_leo": 0, "broker_epoch": 1}
        vector = NOP | {"timeline": [fetch], "config": {"cached_broker_epoch": 2}}
        result = replay_vector(vector, 1)
        assert result["mismatch"] == [
            "timeline[0]: no error expected, 'NOT_LEADER_OR_FOLLOWER' met"
        ]

    def test_missing_error(self) -> None:
        """So is an expected error that does not come."""
        steps = [{"t": 1, "op": "nop", "error_expected": "FENCED_LEADER_EPOCH"}]
        result = replay_vector(NOP | {"timeline": steps}, 1)
        assert result["mismatch"] == ["timeline[0]: error 'FENCED_LEADER_EPOCH' expected, None met"]

    def test_returns(self) -> None:
        """What a step returns is compared."""
        steps = [{"t": 1, "op": "caught_up", "leader_leo": 5, "returns": True}]
        result = replay_vector(NOP | {"timeline": steps}, 1)
        assert result["mismatch"] == ["timeline[0]: returns True expected, False met"]

    def test_time_stands(self) -> None:
        """A step without a time happens at the time of the one before."""
        steps = [
            {"t": 9, "op": "reset", "leader_leo": 0, "is_new_leader": True, "in_sync": True},
            {"op": "fetch", "offset": 0, "leader_leo": 0},
        ]
        state = replay_vector(NOP | {"timeline": steps}, 1)["state"]
        assert state["last_fetch"] == 9


class TestErrors:
    """What cannot be run is one line that names the place and what is known."""

    @from_table
    def test_message(self, change: dict[str, Any], message: str) -> None:
        """The text, exactly."""
        assert refused(lambda: replay_vector(NOP | change, 4)) == message

    def test_missing_variant(self) -> None:
        """A timeline without a variant says so."""
        without = {key: value for key, value in NOP.items() if key != "variant"}
        with pytest.raises(InputError, match=r"^timeline: line 1: variant: missing; allowed: 0"):
            replay_vector(without, 1)

    def test_unknown_config_key(self) -> None:
        """A config key that is neither Kafka's nor a timeline's is refused."""
        with pytest.raises(InputError) as caught:
            replay_vector(NOP | {"config": {"replica.lag": 1}}, 1)
        assert str(caught.value).startswith("timeline: line 1: config: 'replica.lag'; allowed: ")
        assert "replica.lag.time.max.ms" in caught.value.allowed

    def test_kafka_key_that_no_machine_reads(self) -> None:
        """A Kafka key that the machine does not read is known."""
        assert replay_vector(NOP | {"config": {"num.io.threads": 4}}, 1)["passed"] is None


class TestFile:
    """Files of timelines."""

    def _write(self, folder: Path, *lines: str) -> Path:
        path = folder / "t.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    def test_empty_lines(self, tmp_path: Path) -> None:
        """Empty lines are passed over, and counted."""
        path = self._write(tmp_path, "", json.dumps(NOP), "", '{"machine": 1}')
        results: Iterator[dict[str, Any]] = replay_file(path)
        assert next(results)["id"] == "n"
        assert refused(lambda: next(results)) == f"{path}: line 4: machine: 1; allowed: a text"

    def test_no_id(self, tmp_path: Path) -> None:
        """A timeline without id is named by its line."""
        unnamed = {key: value for key, value in NOP.items() if key != "id"}
        path = self._write(tmp_path, json.dumps(unnamed))
        assert next(replay_file(path))["id"] == "line 1"

    @pytest.mark.parametrize("text", ["{", "nonsense", "[" * 100_000])
    def test_not_json(self, tmp_path: Path, text: str) -> None:
        """A line that is no JSON is named."""
        path = self._write(tmp_path, text)
        said = refused(lambda: list(replay_file(path)))
        assert said == f"{path}: line 1: not JSON; allowed: one JSON object a line"

    def test_no_object(self, tmp_path: Path) -> None:
        """A line that is no object is named."""
        path = self._write(tmp_path, "[1]")
        said = refused(lambda: list(replay_file(path)))
        assert said == f"{path}: line 1: list; allowed: one JSON object a line"

    def test_missing_file(self, tmp_path: Path) -> None:
        """A file that is not there is an error of one line."""
        with pytest.raises(InputError) as caught:
            list(replay_file(tmp_path / "no"))
        where = f"{tmp_path / 'no'}: No such file or directory; allowed: a readable file"
        assert str(caught.value) == where

    def test_not_text(self, tmp_path: Path) -> None:
        """A file that is no text is one, too."""
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"\xff\xfe")
        said = refused(lambda: list(replay_file(path)))
        assert said == f"{path}: not UTF-8 text; allowed: JSON, one object a line"


class TestCommand:
    """``python -m tests.oracle``."""

    def _run(self, monkeypatch: pytest.MonkeyPatch, file: Path, *options: str) -> int:
        monkeypatch.setattr("sys.argv", ["oracle", str(file), *options])
        return main()

    def _file(self, folder: Path, expect: dict[str, Any]) -> Path:
        path = folder / "t.jsonl"
        path.write_text(json.dumps(NOP | {"expect": expect}) + "\n", encoding="utf-8")
        return path

    def test_one_line_each(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One JSON line a timeline on standard output."""
        assert self._run(monkeypatch, self._file(tmp_path, {"leo": -1}), "--check") == 0
        lines = capsys.readouterr().out.splitlines()
        assert [json.loads(line)["passed"] for line in lines] == [True]

    def test_check(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """With `check` an unmet expectation is exit status 1, without it 0."""
        path = self._file(tmp_path, {"leo": 5})
        assert self._run(monkeypatch, path, "--check") == 1
        assert self._run(monkeypatch, path) == 0

    def test_nothing_before_an_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A line that cannot be run is exit status 2 and one line; standard output is empty."""
        path = tmp_path / "t.jsonl"
        path.write_text(json.dumps(NOP) + "\n{}\n", encoding="utf-8")
        assert self._run(monkeypatch, path, "--check") == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == f"{path}: line 2: machine: missing; allowed: a text\n"
