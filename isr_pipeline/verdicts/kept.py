"""What a baseline keeps beside its numbers: its plan, and the sources of the code that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.errors import InputError, Refused
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.home import Home
from isr_pipeline.kernels.source import FILE, read_archive
from isr_pipeline.verdicts import baseline as baselines

if TYPE_CHECKING:
    from pathlib import Path

    from isr_pipeline.kernels.source import Source
    from isr_pipeline.verdicts.baseline import BaselineRecord


def baseline_source(record: BaselineRecord) -> Source:
    """The sources that a baseline keeps.

    Raises:
        Refused: it was accepted without them.
        BaselineDamaged: they are missing, or not what was accepted.
    """
    if "source" not in record.digests:
        raise Refused(
            f"the baseline of {record.experiment} (night {record.night}) was accepted without its "
            "source; accept a night of today's code: "
            f"isr-pipeline baseline accept NIGHT --experiment {record.experiment}"
        )
    return read_archive(_checked(record, "source", FILE))


def baseline_plan(record: BaselineRecord) -> Plan | None:
    """The plan of the accepted night; None if an older release accepted it and it was pruned.

    Raises:
        BaselineDamaged: it is missing, or not what was accepted.
    """
    home = Home.from_environment()
    if "plan" in record.digests:
        return Plan.load(_checked(record, "plan", "plan.json"))
    try:
        return Plan.load(home.night_dir(record.experiment, record.night) / "plan.json")
    except InputError:
        return None


def _checked(record: BaselineRecord, name: str, file: str) -> Path:
    path = Home.from_environment().baseline_dir(record.experiment) / file
    if not path.is_file():
        raise baselines.BaselineDamaged(f"baseline is damaged: {file} is missing")
    if baselines.file_digest(path) != record.digests[name]:
        raise baselines.BaselineDamaged(f"baseline is damaged: {file} is not what was accepted")
    return path
