"""A place in an object store, used like a path; every refusal is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import Home
from isr_pipeline.base.places import root_path
from isr_pipeline.base.storage.places import place_of
from isr_pipeline.base.storage.remote import RemotePath, StoreError, reason
from isr_pipeline.night.preconditions import check_places
from isr_pipeline.night.spark.spark_errors import cause
from isr_pipeline.verdicts import ledger
from tests.storage.server import BUCKET, Server


class TestNames:
    """Places by their names."""

    def test_parts(self) -> None:
        """A URI has names and parents like a path; doubled slashes do not count."""
        place = RemotePath.of("s3://bucket//a/b.tar.gz/")
        assert str(place) == "s3://bucket/a/b.tar.gz"
        assert (place.name, place.stem, place.suffix) == ("b.tar.gz", "b.tar", ".gz")
        assert str(place.parent / "c") == str(place.with_name("c")) == "s3://bucket/a/c"

    @pytest.mark.parametrize(
        "text", ["ftp://host/x", "s3a://bucket/x", "s3://", "s3:///x", "S3://bucket"]
    )
    def test_unknown(self, text: str) -> None:
        """A scheme that is not known is refused with those that are."""
        with pytest.raises(ValueError, match=r"allowed: a folder, file:///FOLDER, s3://BUCKET/"):
            place_of(text)

    @pytest.mark.parametrize("text", ["/tables", "file:///tables"])
    def test_local(self, text: str) -> None:
        """A folder, and a file: URI of one, are paths of this machine."""
        assert str(place_of(text)) == "/tables"


class TestFiles:
    """Single files."""

    def test_written_read_removed(self, prefix: RemotePath) -> None:
        """What is written is read until it is removed."""
        file = prefix / "a" / "x.json"
        file.write_text("ü")
        assert (file.is_file(), file.is_dir(), file.read_text()) == (True, False, "ü")
        assert (prefix / "a").is_dir()
        file.unlink()
        file.unlink(missing_ok=True)
        assert not file.exists()
        assert not (prefix / "a").exists()
        with pytest.raises(FileNotFoundError, match=str(file)):
            file.read_bytes()

    def test_found(self, prefix: RemotePath) -> None:
        """Names are found level by level, as in a folder."""
        for name in ("smoke/2026-11-19/plan.json", "smoke/2026-11-20/plan.json", "other"):
            (prefix / name).put(b"x")
        assert [str(one).removeprefix(f"{prefix}/") for one in prefix.glob("*/2026-*")] == [
            "smoke/2026-11-19",
            "smoke/2026-11-20",
        ]
        assert [one.name for one in prefix.glob("*")] == ["other", "smoke"]
        (prefix / "smoke").remove_below()
        assert [one.name for one in prefix.glob("*")] == ["other"]

    def test_a_forgotten_write_is_found_out(self, server: Server, prefix: RemotePath) -> None:
        """A store that answers and does not keep the file is told of at once."""
        server.behave(forget="x.json")
        with pytest.raises(StoreError, match=r"/x.json: was written, and the store does not have"):
            (prefix / "x.json").write_bytes(b"1")

    def test_the_former_content_counts_as_forgotten(
        self, server: Server, prefix: RemotePath
    ) -> None:
        """A store that keeps what stood there before is told of, too."""
        (prefix / "x.json").write_bytes(b"1")
        server.behave(forget="x.json")
        with pytest.raises(StoreError, match=r"was written, and the store has something else"):
            (prefix / "x.json").write_bytes(b"2")

    def test_some_requests_fail(self, server: Server, prefix: RemotePath) -> None:
        """Requests that fail now and then are made again."""
        server.behave(fail_every=7)
        for number in range(6):
            (prefix / f"{number}").write_bytes(b"1")
        assert [name for name, _ in prefix.files()] == list("012345")
        assert server.counts()["failed"] > 0

    def test_an_error_longer_than_the_file(self, server: Server, prefix: RemotePath) -> None:
        """A read of few bytes that fails now and then is made again, too."""
        (prefix / "x").put(b"1")
        server.behave(fail_every=4)
        for _ in range(12):
            assert (prefix / "x").read_bytes() == b"1"
        assert server.counts()["failed"] > 3


REFUSALS = {
    "ExpiredToken": r"ExpiredToken",
    "InvalidAccessKeyId": r"invalid access key id",
    "SignatureDoesNotMatch": r"signature does not match",
    "AccessDenied": r"access denied",
}


class TestCause:
    """Why a step broke off."""

    def test_in_a_worker(self) -> None:
        """What a worker says of a store is the line, not what Spark says around it."""
        text = (
            "An exception was thrown from the Python worker:\n  File x\n"
            "isr_pipeline.base.storage.remote.StoreError: s3://b/x: cannot be read (network "
            "connection: Connection reset by peer)\n\tat org.apache.spark"
        )
        assert cause(RuntimeError(text)) == (
            "s3://b/x: cannot be read (network connection: Connection reset by peer)"
        )


class TestGround:
    """What is asked before a night starts."""

    def root(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, uri: str) -> str:
        """Name a root; what is said of it."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("ISR_PIPELINE_ROOT", uri)
        try:
            check_places(Home.from_environment())
        except InputError as error:
            return str(error)
        return ""

    def test_good(
        self, server: Server, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A bucket that can be written is good, and nothing stays in it."""
        assert self.root(monkeypatch, tmp_path, str(prefix)) == ""
        assert prefix.files() == []

    def test_unknown_scheme(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A scheme that is not known is refused with those that are."""
        said = self.root(monkeypatch, tmp_path, "ftp://host/tables")
        assert said.startswith("ISR_PIPELINE_ROOT: ftp://host/tables; allowed: a folder, ")
        assert "\n" not in said

    def test_no_bucket(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A bucket that is not there is named."""
        said = self.root(monkeypatch, tmp_path, "s3://elsewhere/tables")
        assert said.startswith("ISR_PIPELINE_ROOT: s3://elsewhere/tables: cannot be written (no ")
        assert "such bucket" in said
        assert "\n" not in said

    def test_unreachable(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A server that does not answer is named as that."""
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        said = self.root(monkeypatch, tmp_path, "s3://unreachable/tables")
        assert "s3://unreachable/tables: http://127.0.0.1:9 cannot be reached (connection " in said
        assert "\n" not in said

    @pytest.mark.parametrize("code", REFUSALS)
    def test_credentials(
        self, code: str, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Wrong or expired credentials, and missing rights, are told apart."""
        server.behave(refuse=code, methods=["PUT"])
        said = self.root(monkeypatch, tmp_path, f"s3://{BUCKET}/tables")
        assert said.startswith(f"ISR_PIPELINE_ROOT: s3://{BUCKET}/tables: cannot be written (")
        assert REFUSALS[code] in said
        assert "allowed: a bucket that answers" in said
        assert "\n" not in said


class TestReason:
    """What a store said, in a few words."""

    def test_google(self) -> None:
        """The kind of error and its cause, without what Google's library notes for itself."""
        said = (
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of "
            "Could not create a OAuth2 access token to authenticate the request. The request was "
            "not sent error_info={reason=, domain=, metadata={gcloud-cpp.retry.on-entry=false}})"
        )
        assert reason(OSError(said)) == (
            "unavailable: Could not create a OAuth2 access token to authenticate the request"
        )

    def test_hadoop_is_not_there(self) -> None:
        """Without Hadoop's library a store of it is refused in one line."""
        with pytest.raises(StoreError, match=r"^hdfs://none:9000: cannot be used \(.+\)$") as told:
            (RemotePath.of("hdfs://none:9000/x")).read_bytes()
        assert "\n" not in str(told.value)


class TestHome:
    """What nights make, by `ISR_PIPELINE_STORE`."""

    def test_moves_what_nights_make(
        self, server: Server, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Everything that a night makes lies below it; the rest stays in the home."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
        monkeypatch.setenv("ISR_PIPELINE_STORE", f"{prefix}/")
        home = Home.from_environment()
        check_places(home)
        assert str(root_path()) == f"{prefix}/tables"
        made = (home.night_dir("e", "n"), home.data_docs("e"), home.baseline_dir("e"))
        assert all(str(place).startswith(f"{prefix}/") for place in (*made, home.mlflow_artifacts))
        assert all(place.is_relative_to(tmp_path) for place in (home.locks, home.airflow))

    def test_unknown_scheme(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A scheme that is not known is one line that names the variable."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("ISR_PIPELINE_STORE", "ftp://host/all")
        with pytest.raises(InputError, match=r"^ISR_PIPELINE_STORE: ftp://host/all; allowed: a "):
            check_places(Home.from_environment())


class TestLedger:
    """The ledger of acceptances in a store, which cannot add to a file."""

    def test_one_line_more(
        self, server: Server, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Every acceptance adds a line behind those that are there."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("ISR_PIPELINE_STORE", str(prefix))
        for night in ("2026-11-19", "2026-11-20"):
            ledger.append(
                "smoke",
                ledger.Entry(
                    night=night,
                    accepted_by="Ada",
                    accepted_at=f"{night}T00:00:00Z",
                    why="meant",
                    code_version="1",
                    panel_digest="p",
                    absorbed={},
                ),
            )
        assert [entry.night for entry in ledger.read("smoke")] == ["2026-11-19", "2026-11-20"]
