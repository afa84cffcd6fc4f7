"""Reference pages: what the models say, and examples that can be used."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import parse_mapping
from isr_pipeline.base.home import SHIPPED
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from tests.tables import from_table
from tools import reference, schemas

EXAMPLE = re.compile(r"^```yaml file=config/(\S+)\n(.*?)^```$", re.M | re.S)

FILES = {
    "experiments/example.yaml": ("experiment-file.md", reference.EXPERIMENT),
    "faults/example.yaml": ("fault-profile.md", reference.PROFILE),
    "rule-sets/example.yaml": ("own-proposal.md", reference.RULE_SET),
    "clusters/example.yaml": ("cluster-file.md", reference.CLUSTER),
}
"""Example -> its page, and the models that it shows."""

IMPORTED = "clusters/demo.yaml"
SHIPPED_FILES = sorted(
    [*FILES, *(f"{one.parent.name}/{one.name}" for one in (SHIPPED / "config").glob("*/*.yaml"))]
)
WRITTEN_BY_HAND = [one for one in SHIPPED_FILES if one not in FILES and one != IMPORTED]


def example(file: str) -> str:
    """The text of an example, as its page has it."""
    page, _ = FILES[file]
    found: dict[str, str] = dict(EXAMPLE.findall(reference.read(page)))
    return found[file]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of configuration with the four examples."""
    folder = tmp_path / "config"
    shutil.copytree(SHIPPED / "config", folder)
    for file in FILES:
        (folder / file).write_text(example(file))
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


class TestGenerated:
    """Between the marks stands what the code says."""

    @pytest.mark.parametrize("page", sorted(reference.PARTS))
    def test_as_the_models_have_it(self, page: str) -> None:
        """Writing the page again changes nothing; if it does: make reference."""
        assert reference.rewritten(page, reference.read(page)) == reference.read(page)

    def test_a_changed_page_is_seen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One changed default makes the command fail, and --write mends it."""
        folder = tmp_path / "docs"
        (folder / "project").mkdir(parents=True)
        for name in reference.PARTS:
            (folder / name).write_text(reference.read(name))
        monkeypatch.setattr(reference, "DOCS", folder)
        page = folder / "experiment-file.md"
        page.write_text(page.read_text().replace("default `5000`", "default `6000`"))
        assert reference.main([]) == 1
        assert "experiment-file.md; run: make reference" in capsys.readouterr().err
        assert reference.main(["--write"]) == 0
        assert reference.main([]) == 0
        assert "default `5000`" in page.read_text()

    def test_marks_are_kept(self) -> None:
        """A page whose marks somebody removed is refused."""
        with pytest.raises(SystemExit, match=r"keys\.md: has the parts \[\]"):
            reference.rewritten("keys.md", "# What can be set\n")


class TestSchemas:
    """What editors know of the files of ``config``."""

    @pytest.mark.parametrize("folder", sorted(schemas.MODELS))
    def test_as_the_models_have_it(self, folder: str) -> None:
        """Writing the schema again changes nothing; if it does: make reference."""
        assert schemas.text(folder) == schemas.file(folder).read_text(encoding="utf-8")

    @pytest.mark.parametrize("file", SHIPPED_FILES)
    def test_never_stricter_than_the_model(self, file: str) -> None:
        """Every shipped file and every example of the docs is one that its schema takes."""
        text = example(file) if file in FILES else (SHIPPED / "config" / file).read_text()
        raw = parse_mapping(text, file)
        Draft202012Validator(schemas.schema(file.partition("/")[0])).validate(raw)

    @pytest.mark.parametrize("folder", sorted(schemas.MODELS))
    def test_named_in_the_first_line(self, folder: str) -> None:
        """An editor finds it from the file itself; a file of one's own may go without."""
        mark = "# yaml-language-server: $schema="
        files = [one for one in WRITTEN_BY_HAND if one.startswith(f"{folder}/")]
        texts = [(SHIPPED / "config" / one).read_text() for one in files]
        named = {one.partition("\n")[0].removeprefix(mark) for one in texts if mark in one}
        assert named == {f"../schemas/{folder}.json"}

    def test_marks_an_unknown_key(self) -> None:
        """A misspelt field is one that no schema takes."""
        raw = parse_mapping(example("clusters/example.yaml"), "f") | {"relase": "3.9"}
        assert not Draft202012Validator(schemas.schema("clusters")).is_valid(raw)


class TestExamples:
    """Each page's example is complete and works."""

    def test_experiment(self, config: Path) -> None:
        """It loads with the three other examples; grid and candidates make seven configurations."""
        made = configurations(load_experiment("example"))
        assert [one.name for one in made] == [
            "today",
            "a-third",
            "elr@min-isr=1,lag=10000",
            "elr@min-isr=1,lag=30000",
            "elr@min-isr=2,lag=10000",
            "elr@min-isr=2,lag=30000",
            "joins-late",
        ]

    @pytest.mark.parametrize("file", sorted(FILES))
    def test_has_every_field(self, file: str) -> None:
        """No field of the page's tables is missing in its example."""
        _, models = FILES[file]
        written = set(_keys(parse_mapping(example(file), file)))
        fields = {n for _, model in models for n in model.model_fields}
        assert fields - written == set()

    @from_table
    def test_refusals(self, config: Path, file: str, old: str, new: str) -> None:
        """The line that a page shows for a mistake is the one that is said."""
        path = config / file
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(InputError) as refused:
            load_experiment("example")
        said = str(refused.value).replace(f"{config}/", "config/").replace("example", "mine")
        page, _ = FILES[file]
        assert said in re.findall(r"^    (config/\S+: .+)$", reference.read(page), re.M)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    if isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
