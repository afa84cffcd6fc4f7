"""Names with the hash code of other names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.clusters.anonymise import name_of_hash, new_names
from isr_pipeline.kafka.fetcher import fetcher_hash, java_string_hash

NAMES = st.text("abcXYZ019._-", min_size=1, max_size=60)


@given(st.sets(NAMES, min_size=1, max_size=8))
def test_hash_codes_stay(names: set[str]) -> None:
    """Every new name has the hash code of the old one, and no two topics get the same."""
    made = new_names(names)
    assert len(set(made.values())) == len(names)
    for old, new in made.items():
        assert java_string_hash(new) == java_string_hash(old)
        assert fetcher_hash(new, 7) == fetcher_hash(old, 7)


def test_kafkas_own_topics_keep_their_names() -> None:
    """Everybody has them."""
    assert new_names(["__consumer_offsets"]) == {"__consumer_offsets": "__consumer_offsets"}


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_name_found_has_the_hash(wanted: int) -> None:
    """What is found has the prefix and the hash code."""
    found = name_of_hash("topic-1-", wanted)
    if found is not None:
        assert found.startswith("topic-1-")
        assert java_string_hash(found) == wanted
