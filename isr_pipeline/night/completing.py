"""What the shell offers when a person presses Tab: names of files, nights and configurations.

Only folders are listed, and one plan is read: a shell asks at every key.
"""

from __future__ import annotations

import json

from isr_pipeline.base.home import Home, config_dir
from isr_pipeline.base.storage.places import place_of


def experiments() -> list[str]:
    """Names of the experiment files."""
    return _stems("experiments")


def clusters() -> list[str]:
    """Names of the cluster files."""
    return _stems("clusters")


def faults() -> list[str]:
    """Names of the fault profiles."""
    return _stems("faults")


def nights(experiment: str | None = None) -> list[str]:
    """Nights of an experiment, or of all, newest first."""
    folder = Home.from_environment().nights
    found = {one.name for one in folder.glob(f"{experiment or '*'}/????-??-??")}
    return sorted(found, reverse=True)


def configurations(night: str, experiment: str | None = None) -> list[str]:
    """Names of a night's configurations, as its plan has them; none if there is no plan."""
    folder = Home.from_environment().nights
    for text in sorted(map(str, folder.glob(f"{experiment or '*'}/{night}/plan.json"))):
        try:
            listed = json.loads(place_of(text).read_text())["configurations"]
            return [str(one["name"]) for one in listed]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return []


def keys(ending: str = "") -> list[str]:
    """Kafka's keys that can be set.

    Args:
        ending: put behind each, such as ``=``.
    """
    from isr_pipeline.kafka.broker_config import KEYS  # noqa: PLC0415 - reads numpy

    return [f"{name}{ending}" for name in KEYS]


def metrics() -> list[str]:
    """Names of the metrics."""
    from isr_pipeline.worlds.columns import METRICS  # noqa: PLC0415 - reads numpy

    return list(METRICS)


def _stems(kind: str) -> list[str]:
    return sorted(one.stem for one in (config_dir() / kind).glob("*.yaml"))
