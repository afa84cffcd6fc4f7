"""A file is replaced at once, or stays as it was."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.files.whole import write_whole

if TYPE_CHECKING:
    from pathlib import Path


class TestWriteWhole:
    """isr_pipeline.base.files.whole."""

    def test_makes_the_folder(self, tmp_path: Path) -> None:
        """The folders above are made."""
        assert write_whole(tmp_path / "a" / "b", "ü").read_bytes() == "ü".encode()

    def test_no_draft_stays(self, tmp_path: Path) -> None:
        """Only the file itself is there afterwards."""
        write_whole(tmp_path / "it", b"1")
        write_whole(tmp_path / "it", b"2")
        assert [file.name for file in tmp_path.iterdir()] == ["it"]

    def test_a_failed_replacement_leaves_the_old_content(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A full volume costs the new content, neither the old one nor a draft's space."""
        file = write_whole(tmp_path / "it", "old")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(type(file), "write_bytes", full)
        with pytest.raises(OSError, match="No space left"):
            write_whole(file, "new")
        assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]

    def test_mode(self, tmp_path: Path) -> None:
        """A secret's file is its owner's alone, also when it replaces one that was not."""
        file = write_whole(tmp_path / "it", "open")
        write_whole(file, "secret", mode=0o600)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
