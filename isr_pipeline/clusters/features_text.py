"""What ``kafka-features.sh describe`` prints: the features of the cluster and their levels.

A line for each feature (FeatureCommand.java @ 3.3 ... 4.3); 2.7 to 3.2 name a least and a most
level. It alone says whether eligible leader replicas are on.
"""

from __future__ import annotations

import re

from isr_pipeline.clusters.facts import TOOL, Facts, Source
from isr_pipeline.clusters.lines import own_lines
from isr_pipeline.clusters.metadata import METADATA_VERSION, level_of
from isr_pipeline.scenarios.cluster_file import ELR

KIND = "kafka-features.sh describe"
_ALLOWED = "lines of kafka-features.sh describe, whole"
_BEGINS = re.compile(r"^[^\S\n]*Feature:\s*\S+\s+SupportedMinVersion:", re.MULTILINE)
_FEATURE = re.compile(
    r"\s*Feature:\s*(?P<name>[\w.]{1,100})\s+SupportedMinVersion:\s*\S+\s+SupportedMaxVersion:\s*(?P<most>\S+)"
    r"(?:\s+FinalizedMinVersionLevel:\s*\S+)?"
    r"\s+Finalized(?:Max)?VersionLevel:\s*(?P<level>\S+)\s+Epoch:\s*\S+\s*$"
)
_NOT_FINALIZED = "-"
_OF_A_RELEASE = re.compile(r"(\d+\.\d+)-IV\d+$")
"""How the tool writes a metadata.version."""


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return _BEGINS.search(text) is not None


def read(source: Source) -> Facts:
    """Read the levels.

    Raises:
        InputError: a line that is cut, a feature twice, or a level that is none.
    """
    facts = Facts(source.name, KIND, TOOL)
    seen: set[str] = set()
    for number, line in own_lines(source, source.text(_ALLOWED), _ALLOWED, _BEGINS.match, _no):
        found = _FEATURE.match(line)
        if found is None:
            source.refuse(number, line.strip(), _ALLOWED)
        name, text = found["name"], found["level"]
        if name in seen:
            source.refuse(number, name, "each feature once")
        seen.add(name)
        source.take(number)
        if name == METADATA_VERSION:
            _metadata_version(facts, text, found["most"])
        elif text.isascii() and text.isdecimal() and len(text) < 6:
            facts.features[name] = int(text)
        elif text != _NOT_FINALIZED:
            source.refuse(number, f"level {text} of {name}", "a number, or - for none")
        elif name == ELR:
            facts.features[name] = 0
    return facts


def _metadata_version(facts: Facts, level: str, most: str) -> None:
    """What the level says: KRaft's controllers elect, and the release of the node that answered."""
    runs, written = _OF_A_RELEASE.match(most), _OF_A_RELEASE.match(level)
    if runs:
        facts.release = runs[1]
    if written:
        facts.controller, facts.protocol = "kraft", written[1]
    known = level_of(level)
    if known is not None:
        facts.features[METADATA_VERSION] = known
    elif level != _NOT_FINALIZED:
        facts.left_out.append(f"{METADATA_VERSION} {level} ({facts.source}): unknown")


def _no(_: str) -> None:
    """No line goes on behind another."""
