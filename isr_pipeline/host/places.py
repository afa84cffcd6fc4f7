"""Where the tables are: a folder of this machine, or a place in an object store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.home import Home
from isr_pipeline.storage.places import place_of

if TYPE_CHECKING:
    from isr_pipeline.storage.places import Place


def root_path(root: str | None = None) -> Place:
    """Return the place that holds the tables.

    Args:
        root: path or URI; the home's root if None.

    Raises:
        ValueError: a URI of a scheme that is not known.
    """
    place = place_of(root or Home.from_environment().root)
    return place.resolve() if isinstance(place, Path) else place
