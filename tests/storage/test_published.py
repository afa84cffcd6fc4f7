"""Folders in an object store are replaced as a whole, and read as they were published."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from isr_pipeline.base.errors import TableMissing
from isr_pipeline.base.storage import published
from isr_pipeline.base.storage.places import remove_tree
from isr_pipeline.base.storage.published import (
    MANIFEST,
    Stored,
    content_of,
    contents_of,
    drafting,
    files,
    replacing,
)
from isr_pipeline.base.storage.remote import RemotePath, StoreError
from isr_pipeline.tables import store
from tests.storage.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NIGHT = "2026-11-19"
ROWS = pd.DataFrame(
    {
        "config_id": ["b", "a", "a"],
        "metric": ["m", "n", "m"],
        "p": [0.1, np.nan, 0.3],
        "note": ["x", None, "ü"],
    }
)
SCHEMA = pa.schema([("n", pa.int64())])


def put(folder: RemotePath, content: str) -> None:
    """Publish a folder with one file of text."""
    with replacing(folder) as draft:
        (draft / "x.txt").write_text(content)


def text(folder: RemotePath) -> str:
    """The text of that file, read as it was published."""
    content = content_of(folder, "x.txt")
    assert content is not None
    return content.decode()


class TestReplacing:
    """A version takes the place of the one before, or nothing happens."""

    def test_replaces(self, prefix: RemotePath) -> None:
        """The second version leaves nothing of the first."""
        put(prefix, "first")
        put(prefix, "second")
        assert text(prefix) == "second"
        assert len(prefix.files()) == 2  # the file and the manifest

    def test_an_answer_that_is_lost(
        self, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A manifest that was put, though its writer heard of no success, names what is there."""
        put(prefix, "first")
        write = RemotePath.write_text

        def cut_off(place: RemotePath, content: str) -> None:
            write(place, content)
            raise StoreError("no answer")

        with monkeypatch.context() as broken:
            broken.setattr(RemotePath, "write_text", cut_off)
            with pytest.raises(StoreError, match="no answer"):
                put(prefix, "second")
        assert text(prefix) == "second"
        put(prefix, "third")
        assert text(prefix) == "third"
        assert len(prefix.files()) == 2

    def test_a_manifest_that_is_not_put(
        self, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without it the former version counts, and the next writer removes the attempt."""
        put(prefix, "first")

        def refused(place: RemotePath, content: str) -> None:
            raise StoreError(f"{place}: refused {len(content)}")

        with monkeypatch.context() as broken:
            broken.setattr(RemotePath, "write_text", refused)
            with pytest.raises(StoreError, match="refused"):
                put(prefix, "second")
        assert text(prefix) == "first"
        put(prefix, "third")
        assert text(prefix) == "third"
        assert len(prefix.files()) == 2

    def test_an_error_leaves_the_former_version(self, prefix: RemotePath) -> None:
        """An attempt that raises leaves what was there, and nothing else."""
        put(prefix, "first")

        def attempt() -> None:
            with drafting(prefix) as draft:
                (draft.own / "x.txt").write_text("half")
                with store.writing_file(draft.shared, "part.parquet", SCHEMA) as writer:
                    writer.write_table(pa.table({"n": [1]}, SCHEMA))
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match=r"^stop$"):
            attempt()
        assert text(prefix) == "first"
        assert len(prefix.files()) == 2

    def test_debris_is_unseen_and_goes(self, prefix: RemotePath) -> None:
        """What a killed attempt left is no file of the folder; the next attempt removes it."""
        (prefix / "attempt-0" / "part.parquet").put(b"half")
        assert not published.is_published(prefix)
        assert files(prefix) == []
        put(prefix, "whole")
        assert not (prefix / "attempt-0").exists()

    @pytest.mark.parametrize("forgotten", ["x.txt", MANIFEST])
    def test_a_forgotten_write_is_found_out(
        self, forgotten: str, server: Server, prefix: RemotePath
    ) -> None:
        """A store that loses a file or the manifest is told of; the former version counts."""
        put(prefix, "first")
        server.behave(forget=forgotten)
        with pytest.raises(StoreError, match=r": was written, and the store ") as told:
            put(prefix, "second")
        assert "\n" not in str(told.value)
        assert text(prefix) == "first"

    def test_of_two_tasks_the_one_counts_that_is_named(self, prefix: RemotePath) -> None:
        """A task that is run twice writes two files; the folder has the one it was told of."""
        with drafting(prefix) as draft:
            for numbers in ([1], [2]):
                with store.writing_file(draft.shared, "part.parquet", SCHEMA) as writer:
                    writer.write_table(pa.table({"n": numbers}, SCHEMA))
            assert writer.stored is not None
            draft.add([writer.stored])
        (file,) = files(prefix)
        assert file.name == "part.parquet"
        assert pq.read_table(file.open())["n"].to_pylist() == [2]

    def test_a_file_is_taken_over(self, prefix: RemotePath) -> None:
        """A file of the former version is copied within the store, with its digest."""
        put(prefix, "first")
        (before,) = files(prefix, suffix=".txt")
        with drafting(prefix) as draft:
            draft.take(before, "x.txt")
            (draft.own / "y.txt").write_text("new")
        after, _ = files(prefix, suffix=".txt")
        assert (after.sha256, text(prefix)) == (before.sha256, "first")


class TestDamage:
    """What the store lost or changed after it was published is found when it is read."""

    def published(self, folder: RemotePath) -> RemotePath:
        """A published file."""
        put(folder, "first")
        (file,) = files(folder, suffix=".txt")
        assert not hasattr(file.place, "stat")
        return folder / str(file.place).removeprefix(f"{folder}/")

    def test_lost(self, prefix: RemotePath) -> None:
        """A file that is no longer there is named."""
        self.published(prefix).unlink()
        with pytest.raises(StoreError, match=r"/x.txt: was published, and the store does not"):
            text(prefix)

    def test_changed(self, prefix: RemotePath) -> None:
        """A file of the same size with other content is named."""
        self.published(prefix).put(b"other")
        with pytest.raises(StoreError, match=r"/x.txt: is not what was published"):
            text(prefix)

    def test_manifest(self, prefix: RemotePath) -> None:
        """A manifest that cannot be read is named, and is no missing table."""
        put(prefix, "first")
        (prefix / MANIFEST).put(b"{")
        with pytest.raises(StoreError, match=r"/_manifest.json: is not what was published"):
            files(prefix)


class TestReading:
    """Each reading asks which version of a folder counts."""

    def test_another_program_published(self, prefix: RemotePath) -> None:
        """What it published is seen."""
        put(prefix, "first")
        assert text(prefix) == "first"
        code = (
            "import sys; from isr_pipeline.base.storage import published, remote\n"
            "with published.replacing(remote.RemotePath(sys.argv[1])) as own:\n"
            "    (own / 'x.txt').write_text('second')"
        )
        subprocess.run([sys.executable, "-c", code, str(prefix)], check=True)
        assert text(prefix) == "second"

    @pytest.mark.parametrize("removed", [published.remove, remove_tree])
    def test_what_is_removed(
        self, prefix: RemotePath, removed: Callable[[RemotePath], None]
    ) -> None:
        """It is gone at once."""
        put(prefix, "first")
        removed(prefix)
        assert content_of(prefix, "x.txt") is None
        assert not published.is_published(prefix)

    def test_files_of_one_version(self, server: Server, prefix: RemotePath) -> None:
        """Several files that belong together are read by one manifest."""
        with replacing(prefix) as draft:
            for name in ("a", "b", "c"):
                (draft / name).write_text(name)
        server.behave()
        found = contents_of(prefix, ["a", "b", "c", "d"])
        assert found == {name: name.encode() for name in ("a", "b", "c")}
        asked = [one for one in server.asked() if one.endswith(MANIFEST)]
        assert sum(one.startswith("GET") for one in asked) == 1


class TestBesideAWriter:
    """A version is published, and the former one removed, between the manifest and the files."""

    def replace_when_read(
        self, monkeypatch: pytest.MonkeyPatch, *replacements: Callable[[], object]
    ) -> None:
        """Do one of these after each of the next readings of a manifest."""
        left, read = list(replacements), published._manifest

        def then_replaced(folder: RemotePath) -> list[Stored] | None:
            found = read(folder)
            if left:
                replacement = left.pop(0)
                with monkeypatch.context() as undisturbed:
                    undisturbed.setattr(published, "_manifest", read)
                    replacement()
            return found

        monkeypatch.setattr(published, "_manifest", then_replaced)

    def test_a_file_is_that_of_the_next_version(
        self, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The reader begins again, and is not told of damage."""
        put(prefix, "first")
        self.replace_when_read(monkeypatch, lambda: put(prefix, "second"))
        assert text(prefix) == "second"

    def test_a_table_is_all_of_the_next_version(
        self, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No row of the former version is among those of the next."""
        root = str(prefix)
        folder = store.table_path("verdicts", "smoke", NIGHT, root)
        tables = [pa.table({"config_id": [f"{turn}{n}" for n in "ab"]}) for turn in ("old", "new")]

        def write(table: pa.Table) -> None:
            with replacing(folder) as draft:
                for row in range(2):
                    pq.write_table(table.slice(row, 1), draft / f"part-{row}.parquet")

        write(tables[0])
        self.replace_when_read(monkeypatch, lambda: write(tables[1]))
        read = store.read_table("verdicts", "smoke", NIGHT, root=root)
        assert list(read["config_id"]) == ["newa", "newb"]

    def test_a_table_that_was_deleted_is_missing(
        self, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither damage nor an empty table."""
        root = str(prefix)
        store.write_table("verdicts", "smoke", NIGHT, ROWS, root=root)
        self.replace_when_read(monkeypatch, lambda: store.delete_night("smoke", NIGHT, root=root))
        with pytest.raises(TableMissing):
            store.read_table("verdicts", "smoke", NIGHT, root=root)

    def test_replaced_again_and_again(
        self, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After some versions it is said what goes on, with no word of damage."""
        put(prefix, "first")
        self.replace_when_read(
            monkeypatch,
            *(lambda n=n: put(prefix, f"next {n}") for n in range(published.VERSIONS_MAX)),
        )
        with pytest.raises(StoreError, match="was replaced 3 times while it was read; try again"):
            text(prefix)

    def test_a_longer_manifest(self, prefix: RemotePath, monkeypatch: pytest.MonkeyPatch) -> None:
        """A manifest that was cut off at the former one's size is read again."""
        put(prefix, "first")
        read, texts = RemotePath.read_bytes, iter([b'{"files": [{"na'])
        monkeypatch.setattr(RemotePath, "read_bytes", lambda own: next(texts, None) or read(own))
        assert text(prefix) == "first"


class TestTables:
    """Tables in an object store."""

    def test_equal_to_local_ones(self, prefix: RemotePath, tmp_path: Path) -> None:
        """The same rows have the same digest in a folder and in a store."""
        digests = set()
        for root in (str(prefix), str(tmp_path)):
            store.write_table("verdicts", "smoke", NIGHT, ROWS, root=root, lineage={"plan": "p"})
            digests.add(store.table_digest("verdicts", "smoke", NIGHT, root=root))
            folder = store.table_path("verdicts", "smoke", NIGHT, root)
            assert store.read_lineage(folder) == {"plan": "p"}
            assert store.count_rows("verdicts", "smoke", NIGHT, root=root) == 3
        assert len(digests) == 1

    def test_columns_and_filter(self, prefix: RemotePath) -> None:
        """Columns and rows can be chosen; rows come in order of the key."""
        store.write_table("verdicts", "smoke", NIGHT, ROWS, root=str(prefix))
        read = store.read_table(
            "verdicts",
            "smoke",
            NIGHT,
            columns=["metric"],
            where=pc.field("config_id") == "a",
            root=str(prefix),
        )
        assert read.to_dict("list") == {"metric": ["m", "n"]}

    def test_listed_and_deleted(self, prefix: RemotePath) -> None:
        """Nights are listed by their manifests; a deleted one leaves nothing."""
        root = str(prefix)
        for night in ("2026-11-20", NIGHT):
            store.write_table("verdicts", "smoke", night, ROWS, root=root)
        (prefix / "verdicts/experiment=smoke/night=2026-11-21/attempt-0/x").put(b"half")
        assert store.list_nights("smoke", table="verdicts", root=root) == [NIGHT, "2026-11-20"]
        assert store.list_nights("other", table="verdicts", root=root) == []
        (store.parts_path("smoke", NIGHT, "regression", root) / "x").write_bytes(b"part")
        assert store.delete_night("smoke", NIGHT, root=root) == ["verdicts"]
        with pytest.raises(TableMissing):
            store.read_table("verdicts", "smoke", NIGHT, root=root)
        assert not [name for name, _ in prefix.files() if NIGHT in name]
