"""Where compiled kernels are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from isr_pipeline.base.compiling import compiled_digest, sources_digest
from tests.saying import finished

SAY_FOLDER = "import numba; print(numba.config.CACHE_DIR)"


def folder_said(tmp_path: Path, program: str) -> Path:
    """The cache folder that a program prints, in a home of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    said = finished(
        [sys.executable, "-c", program],
        env=environment | {"ISR_PIPELINE_HOME": str(tmp_path)},
        check=True,
    )
    return Path(said.stdout.strip())


class TestCacheFolder:
    """A changed kernel never runs as yesterday's code."""

    def test_is_named_by_the_sources(self, tmp_path: Path) -> None:
        """The folder is that of a digest of everything that is compiled."""
        program = f"import isr_pipeline; {SAY_FOLDER}"
        assert folder_said(tmp_path, program) == tmp_path / "numba" / compiled_digest()

    def test_holds_when_numba_came_first(self, tmp_path: Path) -> None:
        """A program that has imported numba before uses the same folder."""
        program = f"import numba; import isr_pipeline; {SAY_FOLDER}"
        assert folder_said(tmp_path, program) == tmp_path / "numba" / compiled_digest()

    @pytest.mark.parametrize("compiled", [compiled_digest(), "older"])
    def test_is_none_where_the_kernel_lies_beside_its_sources(
        self, tmp_path: Path, compiled: str
    ) -> None:
        """An installation that was compiled as it is; not one of other sources."""
        (tmp_path / "__pycache__").mkdir()
        (tmp_path / "__pycache__" / f"kernel-{compiled}").touch()
        program = (
            "import os, pathlib, numba; from isr_pipeline.base import compiling\n"
            f"compiling.PACKAGE = pathlib.Path({str(tmp_path)!r})\n"
            "del os.environ['NUMBA_CACHE_DIR']\n"
            f"compiling.use_kernel_cache(); {SAY_FOLDER}"
        )
        beside = compiled == compiled_digest()
        folder = Path() if beside else tmp_path / "numba" / compiled_digest()
        assert folder_said(tmp_path, program) == folder


class TestSourcesDigest:
    """Whatever can change a result changes the digest."""

    def test_sees_files_in_folders_below(self, tmp_path: Path) -> None:
        """A changed file two folders down is another digest; so is the same file elsewhere."""
        file = tmp_path / "simulation" / "world" / "log.py"
        file.parent.mkdir(parents=True)
        file.write_text("LIMIT = 1\n")
        before = sources_digest(("simulation",), tmp_path)
        file.write_text("LIMIT = 2\n")
        changed = sources_digest(("simulation",), tmp_path)
        file.rename(tmp_path / "simulation" / "log.py")
        moved = sources_digest(("simulation",), tmp_path)
        assert len({before, changed, moved}) == 3
