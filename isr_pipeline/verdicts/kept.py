"""What a baseline keeps beside its numbers: its plan, and the sources of the code that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.errors import InputError, Refused
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.home import Home
from isr_pipeline.kernels.finding import find_source
from isr_pipeline.kernels.source import FILE, unpack
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.model import accept_command

if TYPE_CHECKING:
    from isr_pipeline.kernels.source import Source
    from isr_pipeline.verdicts.baseline import Acceptance, BaselineRecord


_FILES = {
    "outcomes": "outcomes.parquet",
    "scenarios": "scenarios.parquet",
    "plan": "plan.json",
}
"""Name among a baseline's digests -> its file; all others are archives of sources."""


def source_name(source: Source) -> str:
    """Name among a baseline's digests of the code of configurations that were accepted alone."""
    return f"{baselines.WHOLE_SOURCE}-{source.kernel_digest[:12]}"


def source_file(name: str) -> str:
    """The archive of that name."""
    return FILE.replace("source", name, 1)


def baseline_source(record: BaselineRecord, name: str = baselines.WHOLE_SOURCE) -> Source:
    """The sources that a baseline keeps.

    Args:
        record: of the baseline.
        name: :attr:`Acceptance.source` of the configuration that is asked about: one that was
            accepted alone may be of other code than the night that was accepted whole.

    Raises:
        Refused: it was accepted without them.
        BaselineDamaged: they are missing, or not what was accepted.
    """
    if name not in record.digests:
        raise Refused(
            f"the baseline of {record.experiment} (night {record.night}) was accepted without its "
            f"source; accept a night of today's code: {accept_command(record.experiment, 'NIGHT')}"
        )
    file = source_file(name)
    return unpack(_checked(record, name, file), file)


def source_of(record: BaselineRecord, config_id: str) -> Source:
    """The sources of one configuration's side: the baseline's archive, else git's of its commit.

    Raises:
        Refused: neither is there.
    """
    return source_of_acceptance(record, record.acceptance(config_id))


def source_of_acceptance(record: BaselineRecord, accepted: Acceptance) -> Source:
    """The sources of an acceptance's code; see :func:`source_of`."""
    try:
        return baseline_source(record, accepted.source)
    except Refused as problem:
        found = find_source(accepted.code_version, Home.from_environment())
        if found is not None:
            return found
        if not isinstance(problem, baselines.BaselineDamaged):
            raise
        raise Refused(
            f"{record.experiment}: {problem}; accept a night again: "
            f"{accept_command(record.experiment, 'NIGHT')}"
        ) from None


def damages(record: BaselineRecord) -> list[str]:
    """What of a baseline's files is missing, or is not what was accepted; a line each."""
    folder = Home.from_environment().baseline_dir(record.experiment)
    found = []
    for name, digest in record.digests.items():
        file = _FILES.get(name) or source_file(name)
        try:
            baselines.checked_file(folder, file, digest)
        except baselines.BaselineDamaged as damage:
            found.append(str(damage))
    return found


def baseline_plan(record: BaselineRecord) -> Plan | None:
    """The plan of the accepted night; None if neither has it any more.

    Raises:
        BaselineDamaged: it is missing, or not what was accepted.
    """
    home = Home.from_environment()
    if "plan" in record.digests:
        kept = _checked(record, "plan", "plan.json")
        return Plan.parse(kept.decode(), "the baseline's plan.json")
    try:
        return Plan.load(home.night_dir(record.experiment, record.night) / "plan.json")
    except InputError:
        return None


def _checked(record: BaselineRecord, name: str, file: str) -> bytes:
    folder = Home.from_environment().baseline_dir(record.experiment)
    return baselines.checked_file(folder, file, record.digests[name])
