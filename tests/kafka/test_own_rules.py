"""Rule sets of one's own: a release with switches changed, as a text that holds all of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.kafka.broker_config import resolve
from isr_pipeline.kafka.own_rules import (
    CHANGEABLE,
    RuleSetError,
    allowed_for,
    own_rule_set,
    rule_set_of,
    text_of,
)
from isr_pipeline.kafka.releases import RELEASES, RULE_SETS, Clock, former_names, todays_names
from isr_pipeline.scenarios.panels import ScenarioRow, panel_digest
from tests.saying import refused
from tests.tables import from_table


class TestText:
    """`text_of` and `rule_set_of`."""

    def test_release(self) -> None:
        """A release's name is its rule set."""
        assert all(rule_set_of(name) is RULE_SETS[name] for name in RELEASES)

    def test_holds_the_rules(self) -> None:
        """The text says base and switches, and reading it gives the rule set again."""
        switches = {"tick_divisor": 4, "clock": "read_end", "kraft": False}
        text = text_of("mine", "3.7-3.9", switches)
        assert text == "mine (3.7-3.9 with clock=read_end, tick_divisor=4, kraft=false)"
        found = rule_set_of(text)
        assert found == own_rule_set("mine", "3.7-3.9", switches)
        assert (found.clock, found.tick_divisor, found.kraft) == (Clock.READ_END, 4, False)
        assert found.min_isr_capped

    def test_equal_rules_equal_texts(self) -> None:
        """Order and switches that the base has already make no difference."""
        one = text_of("mine", "3.7-3.9", {"kraft": False, "tick_divisor": 4})
        other = text_of("mine", "3.7-3.9", {"tick_divisor": 4, "async_isr": True, "kraft": False})
        assert one == other

    @given(st.sampled_from(RELEASES), st.sets(st.sampled_from(CHANGEABLE), min_size=1, max_size=5))
    def test_reads_back(self, base: str, names: set[str]) -> None:
        """Any change of switches comes back out of its text."""
        switches = {}
        for name in sorted(names):
            words = allowed_for(name)
            word = "5" if words.startswith("a whole") else words.split(", ")[-1]
            switches[name] = {"false": False, "5": 5}.get(word, word)
        with suppress(RuleSetError):  # the base has all that already, or KRaft lost async_isr
            text = text_of("mine", base, switches)
            assert rule_set_of(text) == own_rule_set("mine", base, switches)

    def test_has_the_keys_defaults_of_its_base(self) -> None:
        """Kafka's keys have the defaults of the release that it was made from."""
        text = text_of("mine", "0.10.2-2.0", {"tick_divisor": 4})
        assert resolve(text, {}) == resolve("0.10.2-2.0", {})


class TestRefusals:
    """What is refused, and in which words."""

    @from_table
    def test_says_where_and_what_is_allowed(
        self, name: str, base: str, switches: dict[str, object], error: str
    ) -> None:
        """Field, value and what may stand there."""
        assert refused(lambda: text_of(name, base, switches), RuleSetError).startswith(error)

    @pytest.mark.parametrize("text", ["own", "mine", "mine (4.0)", "(4.0 with kraft=false)"])
    def test_no_rule_set(self, text: str) -> None:
        """A text that holds no rule set is none; the releases are named."""
        with pytest.raises(RuleSetError, match=r"allowed: .*0\.8\.2"):
            rule_set_of(text)

    @pytest.mark.parametrize(
        ("made", "field"),
        [
            (lambda: rule_set_of("3.7+"), ""),
            (lambda: text_of("mine", "3.7+", {"tick_divisor": 4}), "base"),
        ],
    )
    def test_a_former_name(self, made: Callable[[], object], field: str) -> None:
        """The line names the new one."""
        with pytest.raises(RuleSetError) as refusal:
            made()
        found = refusal.value
        assert (found.field, found.given) == (field, "3.7+")
        assert found.allowed == "3.7-3.9, as 3.7+ is called now"


class TestFormerNames:
    """What an older release stored, and what its kernel is asked."""

    TEXTS: ClassVar[dict[str, str]] = {
        "3.7+": "3.7-3.9",
        '{"cluster":{"release":"3.7+"}}': '{"cluster":{"release":"3.7-3.9"}}',
        "mine (3.7+ with key_defaults=3.7+, kraft=false)": (
            "mine (3.7-3.9 with key_defaults=3.7-3.9, kraft=false)"
        ),
        "/home/3.7+/plan, 13.7+ and 4.1+": "/home/3.7+/plan, 13.7+ and 4.1+",
    }

    @pytest.mark.parametrize(("former", "now"), TEXTS.items())
    def test_are_replaced_both_ways(self, former: str, now: str) -> None:
        """Where a rule set's name stands, and nowhere else."""
        assert todays_names(former) == now
        assert former_names(now) == former

    def test_a_digest_is_what_it_was(self) -> None:
        """A panel that an older release drew is the panel of today, whose scenarios it holds."""
        text = '{"cluster":{"release":"3.7+"}}'
        row = ScenarioRow("regression", "s", 0, "calm", "none", 1.0, "", 1.0, None, text)
        assert panel_digest([row]) == panel_digest([replace(row, scenario_json=todays_names(text))])
