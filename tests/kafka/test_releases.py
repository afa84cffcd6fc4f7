"""Which release has which rule."""

from __future__ import annotations

import dataclasses

import pytest

from isr_pipeline.kafka import releases as r
from tests.kafka.records import NAMES, rules_of
from tests.tables import data_of, from_table

ON_FROM: dict[str, str] = data_of(__file__, "ON_FROM")
OFF_FROM: dict[str, str] = data_of(__file__, "OFF_FROM")
ONLY_IN = {
    "kraft_shrink_bumps": {"2.7-3.2"},
    "check_from_imbalance": {"2.7-3.2", "3.3-3.6", "3.7-3.9"},
    "fenced_get_sessions": {"4.0"},
    "idle_lag_known": set(NAMES) - {"2.7-3.2"},
    "answer_raises_hw": set(NAMES) - {"2.7-3.2"},
    "double_backoff": {"0.9-0.10.1", "4485-doc", "0.10.2-2.0", "2.1-2.6", "2.7-3.2"},
}


class TestRuleSets:
    """Releases as differences."""

    def test_order(self) -> None:
        """Rule sets come in order of release."""
        assert NAMES == (
            "0.8.2",
            "0.9-0.10.1",
            "4485-doc",
            "0.10.2-2.0",
            "2.1-2.6",
            "2.7-3.2",
            "3.3-3.6",
            "3.7-3.9",
            "4.0",
            "4.1+",
        )

    @pytest.mark.parametrize(("field", "first"), ON_FROM.items())
    def test_on_from(self, field: str, first: str) -> None:
        """A rule that came stays from its release on."""
        has = [getattr(r.RULE_SETS[name], field) for name in NAMES]
        assert has == [NAMES.index(name) >= NAMES.index(first) for name in NAMES]

    @pytest.mark.parametrize(("field", "first"), OFF_FROM.items())
    def test_off_from(self, field: str, first: str) -> None:
        """A rule that went is gone from its release on."""
        has = [getattr(r.RULE_SETS[name], field) for name in NAMES]
        assert has == [NAMES.index(name) < NAMES.index(first) for name in NAMES]

    @pytest.mark.parametrize(("field", "names"), ONLY_IN.items())
    def test_only_in(self, field: str, names: set[str]) -> None:
        """Some rules came and went."""
        assert {name for name in NAMES if getattr(r.RULE_SETS[name], field)} == names

    def test_every_flag_is_stated_above(self) -> None:
        """No rule of a release goes untested; a flag that no release has is a proposal's."""
        flags = {f.name for f in dataclasses.fields(r.RuleSet) if f.type == "bool"}
        had = {one for one in flags if any(getattr(r.RULE_SETS[name], one) for name in NAMES)}
        assert had == set(ON_FROM) | set(OFF_FROM) | set(ONLY_IN)

    def test_tick_divisor(self) -> None:
        """KAFKA-4485 halved the tick's period."""
        divisors = [r.RULE_SETS[name].tick_divisor for name in NAMES]
        assert divisors == [1, 1, *[2] * 8]

    def test_isr_lock(self) -> None:
        """What holds the partition's lock."""
        assert [r.RULE_SETS[name].isr_lock for name in NAMES] == [
            r.Lock.COMPLETION,
            r.Lock.COMPLETION,
            r.Lock.NONE,
            r.Lock.COMPLETION,
            r.Lock.RW_ALWAYS,
            *[r.Lock.RW_PRECHECK] * 5,
        ]

    def test_fetcher(self) -> None:
        """KIP-461 is in every rule set from 2.7 on."""
        kip461 = [r.RULE_SETS[name].fetcher is r.Fetcher.KIP_461 for name in NAMES]
        assert kip461 == [False] * 5 + [True] * 5

    def test_expand_needs_lag(self) -> None:
        """Lag is tested at joining in the text of KAFKA-4485 alone."""
        tested = [name for name in NAMES if r.RULE_SETS[name].expand_needs_lag]
        assert tested == ["4485-doc"]
        assert r.RULE_SETS["4485-doc"].expand_needs_lag is r.ExpandNeedsLag.ALWAYS

    def test_registration_retry(self) -> None:
        """When a refused registration is tried again under KRaft."""
        retries = [r.RULE_SETS[name].registration_retry for name in NAMES[-3:]]
        assert [retry.name for retry in retries] == [
            "UP_TO_SESSION",
            "UP_TO_HALF_SESSION",
            "HEARTBEAT_INTERVAL",
        ]

    def test_stands_for(self) -> None:
        """Each rule set stands for one release."""
        assert [r.RULE_SETS[name].release for name in NAMES] == [
            "0.8.2.2",
            "0.10.1.1",
            "0.10.2.2",
            "0.10.2.2",
            "2.2.2",
            "2.8.2",
            "3.6",
            "3.9",
            "4.0.0",
            "4.4",
        ]


class TestSwitches:
    """What a release and a scenario come to."""

    @pytest.mark.parametrize("name", NAMES)
    def test_flags_arrive(self, name: str) -> None:
        """Every flag of a release is its switch."""
        rules, rule_set = rules_of(name), r.RULE_SETS[name]
        for field in dataclasses.fields(r.ReleaseRules):
            assert getattr(rules, field.name) is getattr(rule_set, field.name), field.name

    def test_each_switch_has_its_cell(self) -> None:
        """The kernel finds them as numbers, in the order in which they are declared."""
        rules = rules_of("4.0", kip501="s2", elr=True)
        assert r.as_cells(rules).tolist() == [int(one) for one in dataclasses.astuple(rules)]

    def test_defaults_follow_the_release(self) -> None:
        """Lock and fetcher are the release's own unless named."""
        rules = rules_of("2.1-2.6")
        assert (rules.isr_lock, rules.fetcher) == (r.Lock.RW_ALWAYS, r.Fetcher.LEGACY)

    def test_named_choices_win(self) -> None:
        """2.5 is 2.1-2.6 with another lock and fetcher."""
        rules = rules_of("2.1-2.6", isr_lock="rw_precheck", fetcher="kip-461")
        assert (rules.isr_lock, rules.fetcher) == (r.Lock.RW_PRECHECK, r.Fetcher.KIP_461)

    @from_table
    def test_shrink_bumps(self, name: str, controller: str, bumps: bool) -> None:
        """Only KRaft before metadata.version 3.6 bumps the leader epoch on a shrink."""
        assert rules_of(name, controller=controller).shrink_bumps_leader_epoch is bumps

    def test_shrink_bumps_can_be_chosen(self) -> None:
        """The scenario's own word wins."""
        assert rules_of("3.7-3.9", shrink_bumps_leader_epoch=True).shrink_bumps_leader_epoch

    def test_controller_by_release(self) -> None:
        """KRaft where the release has it."""
        kraft = [rules_of(name).controller is r.Controller.KRAFT for name in NAMES]
        assert kraft == [False] * 5 + [True] * 5

    def test_proposals_are_off(self) -> None:
        """Neither KIP-501 nor ELR is on by itself."""
        rules = rules_of("3.7-3.9")
        assert (rules.kip501, rules.kip501_enabled, rules.elr) == (r.Kip501.NONE, False, False)

    def test_unknown_name(self) -> None:
        """A name that is no choice is a KeyError."""
        with pytest.raises(KeyError):
            rules_of("3.7-3.9", kip501="s3")
