"""Reading one source, and what is said of one that is refused."""

from __future__ import annotations

import pytest

from isr_pipeline.clusters.facts import Facts, Source
from isr_pipeline.clusters.recognise import facts_of
from isr_pipeline.errors import InputError


def facts(text: str) -> Facts:
    """Read a text of whatever kind it is."""
    [found] = facts_of([Source("F", text.encode())])
    return found


def refusal(text: str) -> str:
    """Give the error line of a text."""
    with pytest.raises(InputError) as caught:
        facts(text)
    return str(caught.value)
