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
    """No rows are left behind by a test that was renamed, or is gone."""
    module = file.with_suffix(".py").read_text(encoding="utf-8")
    tests = re.findall(r"@(?:from_table|in_\w+)\n(?: *@.*\n)* *(?:def|class) (\w+)", module)
    data = re.findall(r"data_of\(__file__, \"(\w+)\"\)", module)
    assert sorted(name.rpartition(".")[2] for name in tables(file)) == sorted([*tests, *data])
