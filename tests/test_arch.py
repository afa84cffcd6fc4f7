"""`make arch-test`: what it compares, and what it says where it cannot be tried."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY
from tests.saying import finished
from tests.tables import from_table
from tools import arch_test


class TestCompare:
    """Two processors."""

    @from_table
    def test_told(
        self,
        here: dict[str, str],
        there: dict[str, str],
        said: str,
        status: int,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The scenarios that differ or are missing are named."""
        assert arch_test.compare(here, there) == status
        assert said in capsys.readouterr().out


class TestCannotTry:
    """A machine without Debian's tools."""

    def test_skipped(self, tmp_path: Path) -> None:
        """It says what is missing, and is no failure."""
        (tmp_path / "tools").mkdir()
        script = tmp_path / "tools" / "arch_test.py"
        script.write_text((REPOSITORY / "tools" / "arch_test.py").read_text())
        done = finished([sys.executable, str(script)], env={**os.environ, "PATH": str(tmp_path)})
        assert done.returncode == 0
        assert done.stdout.splitlines()[-1] == "arch-test skipped: apt-get is missing"
