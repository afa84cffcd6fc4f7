"""Files and pastes as people have published them, rebuilt with their quirks: `cases/*/case.json`.

A case has runs. Each names its arguments (files of its folder, options), what is expected (accept,
refuse, either), words that a refusal must have (``says``, a pattern), and expressions over the
imported cluster, whose names are those of `tests.clusters.reading.Seen.names`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.errors import LINE_MAX, InputError, Refused
from tests.clusters.reading import Seen

CASES = Path(__file__).resolve().parent / "cases"


NOT_YET = frozenset(
    {
        "03-milvus41548-bitnami-prompt-as copied",
        "03-milvus41548-bitnami-prompt-as pasted",
        "04-confluent-mrc-observers-healthy: observers must be told of",
        "04-confluent-mrc-observers-west down, with headings",
        "04-confluent-mrc-observers-west down, without headings",
        "10-oc-rsh-defaulting-container-kubectl exec, older kubectl",
        "10-oc-rsh-defaulting-container-session",
        "11-windows-bat-cmd prompt",
        "11-windows-bat-powershell prompt",
        "11-windows-bat-quoted as in a mail or issue",
        "13-cdh-log-prefix-alone",
        "19-logdirs-shapes-wrapped",
        "21-prod-0.8-properties-without release: the key of 0.8 must be told of",
        "23-msk-configuration-configuration with topics",
        "23-msk-configuration-with blanks",
        "27-empty-process-roles-brackets",
        "27-empty-process-roles-empty",
        "28-old-protocol-held-back-told",
        "32-strimzi-git-and-lists-list with pools and topics",
        "33-other-operators-and-env-Confluent for Kubernetes",
        "35-metadata-dumps-log4j2's complaint",
        "38-prompts-alpine",
        "38-prompts-apache",
        "38-prompts-bash-4",
        "38-prompts-nohash",
        "38-prompts-zsh",
        "43-log4j2-complaint-4.x-configs",
        "43-log4j2-complaint-4.x-topics",
        "43-log4j2-complaint-4.x-topics, CRLF",
        "47-noise-of-java-and-kubectl-jdk-note",
        "47-noise-of-java-and-kubectl-krb5",
        "48-properties-encodings-latin-1",
        "49-topic-all-tells-of-brokers-static values of brokers",
        "51-meta-properties-ZooKeeper",
        "53-strimzi-status-version-version in status only",
        "63-cruise-control-healthy-not-verbose-not verbose, healthy, alone",
    }
)
"""Runs that are not yet as expected."""


def marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    """Expect the run to fail as long as it is not yet as expected."""
    return (pytest.mark.xfail(strict=True),) if name in NOT_YET else ()


def runs() -> list[Any]:
    """Every run of every case."""
    return [
        pytest.param(file.parent, run, id=name, marks=marks(name))
        for file in sorted(CASES.glob("*/case.json"))
        for run in json.loads(file.read_text())["runs"]
        for name in [f"{file.parent.name}-{run['name']}"]
    ]


@pytest.mark.parametrize(("folder", "run"), runs())
def test_a_case_is_as_expected(folder: Path, run: dict[str, Any], tmp_path: Path) -> None:
    """Read rightly, told, or refused with words that help."""
    given, release = list(run["args"]), None
    if "--release" in given:
        at = given.index("--release")
        release = given[at + 1]
        del given[at : at + 2]
    sources = [str(folder / name) for name in given]
    try:
        seen = Seen(import_cluster(sources, "case", out=tmp_path / "c.yaml", release=release))
    except (InputError, Refused) as refused:
        line = str(refused).replace(f"{folder}/", "")
        assert run["expect"] != "accept", line
        assert re.search(run.get("says") or "", line), line
        assert len(line) <= LINE_MAX
        return
    assert run["expect"] != "refuse"
    for check in run["check"]:
        assert eval(check, seen.names()), f"{check}: {seen.printed}"
