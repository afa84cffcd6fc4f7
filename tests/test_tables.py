"""Tables of rows beside the modules of tests."""

import re
from pathlib import Path

from tests.tables import tables


def unread(file: Path) -> set[str]:
    """Names of tables and data that the module beside the file has no test for, or lacks."""
    module = file.with_suffix(".py").read_text(encoding="utf-8")
    tests = re.findall(r"@(?:from_table|in_\w+)\n(?: *@.*\n)* *(?:def|class) (\w+)", module)
    data = re.findall(r"data_of\(__file__, \"(\w+)\"\)", module)
    return {name.rpartition(".")[2] for name in tables(file)} ^ {*tests, *data}


def test_every_table_is_read() -> None:
    """No rows are left behind by a test that was renamed, or is gone."""
    files = Path(__file__).parent.rglob("*.yaml")
    beside = [file for file in files if file.with_suffix(".py").exists()]
    assert {file.name: unread(file) for file in beside if unread(file)} == {}
