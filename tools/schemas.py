"""JSON Schemas of the files that people write, from the models: ``config/schemas``.

An editor that reads a file's first line (``# yaml-language-server: $schema=…``) completes names,
shows what they mean and marks an unknown key. A schema is never stricter than the model, which has
the last word: ``isr-pipeline experiment check``, ``cluster show``. ``make reference`` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from isr_pipeline.experiment.file import ExperimentFile
from isr_pipeline.experiment.keys import Entry, entries
from isr_pipeline.scenarios.cluster_file import ClusterFile
from isr_pipeline.scenarios.profile import FaultProfile
from isr_pipeline.scenarios.rule_set_files import RuleSetFile

FOLDER = Path(__file__).resolve().parent.parent / "config" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

MODELS: dict[str, type[BaseModel]] = {
    "clusters": ClusterFile,
    "experiments": ExperimentFile,
    "faults": FaultProfile,
    "rule-sets": RuleSetFile,
}
"""Folder in ``config`` -> what its files are."""

OF_A_CONFIGURATION = ("base", "set")
"""Fields of an experiment that may hold everything that `isr-pipeline keys` lists."""
OF_A_BROKER = ("settings",)
"""Fields of a cluster file that hold Kafka's keys, also those that nothing simulated reads."""


def schema(folder: str) -> dict[str, Any]:
    """The schema of the files in a folder of ``config``."""
    made = MODELS[folder].model_json_schema()
    every = entries()
    kafka = [one for one in every if one.group == "kafka"]
    for model in (made, *made.get("$defs", {}).values()):
        fields = model["properties"]
        for names, known in ((OF_A_CONFIGURATION, every), (OF_A_BROKER, kafka)):
            for name in (one for one in names if fields.get(one, {}).get("type") == "object"):
                fields[name]["properties"] = {one.name: _described(one) for one in known}
    return {"$schema": DIALECT, **made}


def _described(one: Entry) -> dict[str, Any]:
    """What an editor shows of a key. Its type is not said: a value may be written as a text."""
    said = [one.meaning, f"Allowed: {one.allowed}."]
    said += [f"Unit: {one.unit}."] if one.unit else []
    default = {} if one.default is None else {"default": one.default}
    return {"description": " ".join(said), **default}


def text(folder: str) -> str:
    """The schema as its file has it."""
    return json.dumps(schema(folder), indent=2, ensure_ascii=False) + "\n"


def file(folder: str) -> Path:
    """Where the schema of a folder of ``config`` lies."""
    return FOLDER / f"{folder}.json"


def differing() -> list[str]:
    """Folders whose schema is not what the models say."""
    return [
        folder
        for folder in MODELS
        if not file(folder).is_file() or file(folder).read_text(encoding="utf-8") != text(folder)
    ]


def write(folder: str) -> None:
    """Write the schema of a folder."""
    FOLDER.mkdir(exist_ok=True)
    file(folder).write_text(text(folder), encoding="utf-8")
