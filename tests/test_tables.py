"""Tables of rows beside the modules of tests."""

import re
from pathlib import Path

import pytest

from tests.tables import tables

FILES = [
    file for file in Path(__file__).parent.rglob("test_*.yaml") if file.with_suffix(".py").exists()
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_table_is_read(file: Path) -> None:
    """A table whose test was renamed, or is gone, is no list of rows that nobody tries."""
    module = file.with_suffix(".py").read_text(encoding="utf-8")
    read = re.findall(
        r"@(?:from_table|in_rows|in_rule_sets|in_worlds)\n(?:    |\s*@.*\n)*(?:def|class) (\w+)",
        module,
    )
    assert sorted(name.rpartition(".")[2] for name in tables(file)) == sorted(read)
