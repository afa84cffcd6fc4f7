"""Where the tables are: a folder of this machine, or a place in an object store."""

from __future__ import annotations

from pathlib import Path

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import ALLOWED, Place, place_of


def root_path(root: str | None = None) -> Place:
    """Return the place that holds the tables.

    Args:
        root: path or URI; the home's root if None.

    Raises:
        InputError: a URI of a scheme that is not known.
    """
    text = root or Home.from_environment().root
    try:
        place = place_of(text)
    except ValueError:
        raise InputError("ISR_PIPELINE_ROOT", "", text, ALLOWED) from None
    return place.resolve() if isinstance(place, Path) else place
