"""The mutants: one wrong line each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Mutant:
    """One change of one line.

    Args:
        file: module of the room.
        function: the function it is in, or "" for module level.
        old: text that stands there, within one line.
        new: text that replaces it.
        room: folder of `isr_pipeline/`.
        test: the test that has to fail, below `tests/`; "" for any of the tests of the rules.
        lives: why no test can fail; "" for a mutant that has to die.
    """

    file: str
    function: str
    old: str
    new: str
    room: str = "kafka"
    test: str = ""
    lives: str = ""

    @property
    def name(self) -> str:
        """How it is called on the command line."""
        room = "" if self.room == "kafka" else f"{self.room}/"
        return f"{room}{self.file}:{self.function or 'module'}: {self.old} -> {self.new}"


def chosen(mutants: Iterable[Mutant], parts: list[str]) -> list[Mutant]:
    """Return those whose name contains one of these parts; all if there is none."""
    return [m for m in mutants if not parts or any(part in m.name for part in parts)]


def _in(file: str, function: str, *changes: tuple[str, str]) -> list[Mutant]:
    return [Mutant(file, function, old, new) for old, new in changes]


MUTANTS: tuple[Mutant, ...] = (
    *_in(
        "replica.py",
        "create",
        ("now if rules.clock == Clock.READ_END else NEVER", "NEVER"),
        ("now if rules.clock == Clock.READ_END else NEVER", "now"),
        (
            "follower.last_fetch_leader_log_end_offset = 0",
            "follower.last_fetch_leader_log_end_offset = UNKNOWN",
        ),
        ("follower.log_end_offset_time = now", "follower.log_end_offset_time = NEVER"),
    ),
    *_in(
        "replica.py",
        "on_fetch",
        ("            follower.last_caught_up_time = now", "            pass"),
        (
            "= max(follower.last_caught_up_time, at_end)",
            "= min(follower.last_caught_up_time, at_end)",
        ),
        ("= max(follower.last_caught_up_time, at_end)", "= at_end"),
        ("= max(follower.last_caught_up_time, at_previous)", "= at_previous"),
        (
            "elif offset >= follower.last_fetch_leader_log_end_offset",
            "elif offset > follower.last_fetch_leader_log_end_offset",
        ),
        ("elif offset >= follower.last_fetch_leader_log_end_offset", "elif False"),
        (
            "follower.last_fetch_leader_log_end_offset = max(",
            "follower.last_fetch_leader_log_end_offset = min(",
        ),
        ("rules.prev_leo_monotone", "not rules.prev_leo_monotone"),
        ("follower.last_fetch_time = fetch_time", "follower.last_fetch_time = now"),
        ("follower.log_end_offset_time = now", "follower.log_end_offset_time = fetch_time"),
        (
            "follower.log_end_offset = offset",
            "follower.log_end_offset = max(follower.log_end_offset, offset)",
        ),
    ),
    *_in(
        "replica.py",
        "on_fetch_again",
        ("follower.last_caught_up_time = now", "pass"),
        ("follower.last_fetch_time = now", "pass"),
    ),
    *_in(
        "replica.py",
        "_caught_up_times",
        ("return now, now", "return now, previous"),
        ("            return now, previous", "            return now, now"),
        ("return fetch_time, previous", "return now, previous"),
        ("rules.kip501 != Kip501.S1_PR", "rules.kip501 == Kip501.S1_PR"),
        ("if rules.clock == Clock.ISSUE_TEXT", "if False"),
    ),
    *_in(
        "replica.py",
        "on_failed_read",
        ("not rules.failed_read_applied", "False"),
        ("follower.log_end_offset = UNKNOWN", "pass"),
        ("follower.log_end_offset_time = now", "pass"),
        ("follower.last_fetch_time = BEFORE_NEVER", "follower.last_fetch_time = now"),
    ),
    *_in(
        "replica.py",
        "reset",
        (
            "follower.last_caught_up_time = now if in_isr else NEVER",
            "follower.last_caught_up_time = now",
        ),
        ("follower.log_end_offset_time = now", "pass"),
        ("follower.last_fetch_leader_log_end_offset = leader.epoch_start", "pass"),
        ("follower.last_fetch_time = now if in_isr else NEVER", "follower.last_fetch_time = now"),
        ("follower.last_fetch_time = now\n", "pass\n"),
        ("follower.broker_epoch = NO_BROKER_EPOCH", "pass"),
        ("clear_pending(follower)", "pass"),
        ("BEFORE_NEVER if kind == Reset.EVERY_CALL_SENTINEL else NEVER", "NEVER"),
    ),
    *_in(
        "replica.py",
        "_forget_offsets",
        ("follower.last_fetch_leader_log_end_offset = UNKNOWN", "pass"),
        ("follower.log_end_offset = UNKNOWN", "pass"),
        ("follower.log_start_offset = UNKNOWN", "pass"),
    ),
    *_in(
        "replica.py",
        "is_stale_fetch",
        ("broker_epoch < cached_epoch", "broker_epoch <= cached_epoch"),
        ("(UNKNOWN, NO_BROKER_EPOCH)", "(NO_BROKER_EPOCH,)"),
    ),
    *_in(
        "replica.py",
        "in_time",
        ("<= lag_max", "< lag_max"),
        ("counts_pending(rules) and is_pending(follower)", "False"),
    ),
    *_in(
        "replica.py",
        "is_caught_up",
        ("follower.log_end_offset == leader_leo", "follower.log_end_offset >= leader_leo"),
        ("rules.log_end_exempt and", ""),
    ),
    *_in(
        "replica.py",
        "holds_high_watermark",
        ("rules.hw_log_end and follower.log_end_offset == leader_leo", "False"),
    ),
    *_in(
        "replica.py",
        "is_out_of_sync",
        ("behind > lag_max_messages", "behind >= lag_max_messages"),
        ("follower.log_end_offset >= 0", "follower.log_end_offset > 0"),
        ("follower.log_end_offset >= 0", "True"),
    ),
    *_in(
        "partition.py",
        "tick_period",
        ("lag_max // rules.tick_divisor", "lag_max"),
        ("lag_max // rules.tick_divisor", "lag_max // 2"),
    ),
    *_in(
        "partition.py",
        "effective_min_isr",
        ("min(min_isr, rf)", "max(min_isr, rf)"),
        ("rules.min_isr_capped", "True"),
    ),
    *_in(
        "partition.py",
        "next_high_watermark",
        ("size_of(leader.isr) < min_isr_eff", "size_of(leader.isr) <= min_isr_eff"),
        ("size_of(leader.isr) < min_isr_eff", "size_of(maximal_isr(leader)) < min_isr_eff"),
        ("rules.hw_frozen_under_min_isr", "True"),
        ("return max(leader.high_watermark, lowest)", "return lowest"),
        ("return max(leader.high_watermark, lowest)", "return min(leader.high_watermark, lowest)"),
        ("leo < lowest and", ""),
        ("if position == leader.position:", "if False:"),
    ),
    *_in(
        "partition.py",
        "_hw_waits_for",
        ("(maximal_isr(leader) >> position) & 1", "False"),
        ("not rules.hw_waits_for_caught_up", "False"),
        ("not rules.hw_waits_for_caught_up", "True"),
        ("rules.hw_ignores_ineligible and", ""),
        ("not (eligible >> position) & 1", "False"),
    ),
    *_in(
        "partition.py",
        "out_of_sync_mask",
        ("not (leader.isr >> position) & 1", "False"),
        ("position == leader.position or", ""),
    ),
    *_in(
        "partition.py",
        "may_expand",
        (
            "follower.log_end_offset < leader.high_watermark",
            "follower.log_end_offset <= leader.high_watermark",
        ),
        (
            "follower.log_end_offset < leader.epoch_start",
            "follower.log_end_offset <= leader.epoch_start",
        ),
        ("rules.expand_needs_epoch_start and", ""),
        ("not rules.expand_needs_eligible or", ""),
        ("bool((eligible >> position) & 1)", "True"),
        ("leader.pending != Pending.NONE or", ""),
    ),
    *_in(
        "partition.py",
        "lag_lets_join",
        ("rules.expand_needs_lag == ExpandNeedsLag.NEVER", "True"),
        ("rules.expand_needs_lag == ExpandNeedsLag.NEVER", "False"),
        ("rules.expand_needs_lag == ExpandNeedsLag.UNDER_MIN_ISR and", ""),
        ("size_of(leader.isr) >= min_isr_eff", "size_of(leader.isr) > min_isr_eff"),
        ("UNDER_MIN_ISR and met", "UNDER_MIN_ISR and False"),
    ),
    *_in(
        "partition.py",
        "append_refused",
        ("isr_size < min_isr_eff", "isr_size <= min_isr_eff"),
        ("acks_all and", ""),
    ),
    *_in(
        "partition.py",
        "produce_error",
        ("hw < required_offset", "hw <= required_offset"),
        ("min_isr_eff <= maximal_isr_size", "min_isr_eff < maximal_isr_size"),
    ),
    *_in(
        "partition.py",
        "alter_response",
        ("answer_partition_epoch < partition_epoch", "answer_partition_epoch <= partition_epoch"),
        ("answer_leader_epoch != leader_epoch", "answer_leader_epoch < leader_epoch"),
        ("rules.alter_reverts", "True"),
        ("return Alter.RESUBMIT", "return Alter.STAY"),
        ("return Alter.REVERT", "return Alter.STAY"),
    ),
    *_in(
        "kip501.py",
        "add_pending",
        ("+= 1", "+= 2"),
        ("counts[free] = 1", "counts[free] += 2"),
    ),
    *_in(
        "kip501.py",
        "remove_pending",
        ("-= 1", "= 0"),
        ("counts[slot] > 0 and", ""),
    ),
    *_in(
        "kip501.py",
        "contains_pending",
        ("counts[slot] > 0 and", ""),
    ),
    *_in(
        "kip501.py",
        "counts_pending",
        ("rules.kip501_enabled and", ""),
        ("(Kip501.S1_DOC, Kip501.S1_PR, Kip501.S2)", "(Kip501.S1_DOC, Kip501.S1_PR)"),
    ),
    *_in(
        "kip501.py",
        "becomes_pending",
        (
            "offset >= follower.last_fetch_leader_log_end_offset",
            "offset > follower.last_fetch_leader_log_end_offset",
        ),
    ),
    *_in(
        "kip501.py",
        "begin_read",
        ("and becomes_pending(follower, offset)", ""),
    ),
    *_in(
        "kip501.py",
        "should_resign",
        ("read_time > limit", "read_time >= limit"),
        ("since_last >= cooldown", "since_last > cooldown"),
        ("and other_live_isr_member", ""),
        ("and rules.kip501_enabled", ""),
    ),
    *_in(
        "kip501.py",
        "transfers_instead_of_shrinking",
        ("isr_size_after < min_isr", "isr_size_after <= min_isr"),
    ),
    *_in(
        "election.py",
        "elect_zk",
        ("and not (shutting_down >> position) & 1", ""),
        ("if unclean_enabled:", "if True:"),
        ("(isr >> position) & (live >> position) & 1", "(live >> position) & 1"),
        ("return position, True", "return position, False"),
    ),
    *_in(
        "election.py",
        "_valid",
        ("target_isr == 0 and", ""),
        ("not (acceptable >> position) & 1", "False"),
    ),
    *_in(
        "election.py",
        "elect_kraft",
        ("if _valid(partition.leader, target_isr, target_elr, acceptable):", "if False:"),
        ("if preferred and", "if"),
        ("if change.election == Election.UNCLEAN:", "if True:"),
        ("size_of(last_known) == 1", "size_of(last_known) >= 1"),
        ("rules.elr and change.uses_last_known and", "change.uses_last_known and"),
    ),
    *_in(
        "election.py",
        "grown_elr",
        ("size_of(target_isr) >= min_isr", "size_of(target_isr) > min_isr"),
        ("& ~unclean_shutdown", ""),
        ("candidates & ~target_isr", "candidates"),
    ),
    *_in(
        "election.py",
        "change_kraft",
        ("if forced or not rules.elr:", "if not rules.elr:"),
        ("(target_isr != 0 or rules.elr) and", ""),
        ("rules.shrink_bumps_leader_epoch and", ""),
        ("isr & ~new_isr", "new_isr & ~isr"),
        ("new_leader == _NO_CHANGE and change.removes_replicas", "False"),
        ("target_isr = 1 << elected", "pass"),
    ),
    *_in(
        "election.py",
        "_last_known_leader",
        ("if isr_empties and", "if"),
        ("return 1 << leader", "return last_known"),
    ),
    *_in(
        "fetcher.py",
        "reaction",
        (
            "(Error.STORAGE, Error.UNEXPECTED, Error.FENCED_EPOCH)",
            "(Error.UNEXPECTED, Error.FENCED_EPOCH)",
        ),
        ("rules.fetcher == Fetcher.KIP_461", "rules.fetcher != Fetcher.KIP_461"),
        ("        return Reaction.DROP", "        return Reaction.DELAY"),
        ("rules.corrupt_kills_thread", "False"),
    ),
    *_in(
        "session.py",
        "is_refused",
        ("now > session_end or (fenced and not outlives_fence(rules))", "True"),
        ("now > session_end or (fenced and not outlives_fence(rules))", "now > session_end"),
        ("(fenced and not outlives_fence(rules))", "fenced"),
        ("now > session_end", "now >= session_end"),
        ("or killed", "or True"),
    ),
    *_in(
        "session.py",
        "retry_after",
        ("rules.registration_retry == RegistrationRetry.HEARTBEAT_INTERVAL", "True"),
        ("rules.registration_retry == RegistrationRetry.UP_TO_HALF_SESSION", "False"),
        ("FIRST_RETRY_US << min(tries, DOUBLINGS_MAX), most)", "FIRST_RETRY_US, most)"),
        ("rules.start_waits_for_session", "True"),
    ),
    *_in(
        "session.py",
        "is_active",
        ("not fenced and not stopping", "not fenced"),
        ("not fenced and not stopping", "not stopping"),
    ),
    *_in(
        "session.py",
        "outlives_fence",
        ("not rules.fence_ends_session", "True"),
        ("rules.controller == Controller.KRAFT and", ""),
    ),
    *_in(
        "session.py",
        "check_period",
        ("not rules.sessions_checked_by_eighths", "False"),
        ("session // CHECKS_A_SESSION", "session"),
        ("max(session // CHECKS_A_SESSION, SHORTEST_PERIOD_US)", "session // CHECKS_A_SESSION"),
    ),
    *_in(
        "session.py",
        "found_over",
        ("// period + 1) * period", "// period) * period"),
        ("(session_end - first_check) // period", "session_end // period"),
    ),
    *_in(
        "session.py",
        "new_controller_tracks",
        ("not fenced or", ""),
        ("rules.fenced_get_sessions", "True"),
    ),
    *_in(
        "log_dirs.py",
        "holds_metadata",
        ("rules.log_dirs_reported and", ""),
        ("and log_dir == METADATA_DIR", ""),
    ),
    *_in(
        "log_dirs.py",
        "on_dir_failure",
        ("rules.io_error_halts or", ""),
        ("dirs_left <= 0", "False"),
        ("or holds_metadata(rules, log_dir)", ""),
        ("rules.controller == Controller.KRAFT and", ""),
        ("and not rules.log_dirs_reported", ""),
    ),
    *_in(
        "election.py",
        "kraft_election",
        ("and rules.kraft_elects_uncleanly", ""),
        ("election == Election.ONLINE and", ""),
        ("and unclean_enabled", ""),
    ),
    *_in(
        "election.py",
        "last_member_leaves",
        ("and rules.last_member_leaves", ""),
        ("unclean_enabled and", ""),
    ),
    *_in(
        "election.py",
        "elect_kraft",
        ("or not rules.last_known_must_live", ""),
        ("last_known & acceptable != 0", "True"),
    ),
    *_in(
        "recovery.py",
        "surviving_end",
        ("lost == Lost.ALL", "False"),
        ("min(log_end, max(recovery_point, flushed))", "max(recovery_point, flushed)"),
        ("max(recovery_point, flushed)", "flushed"),
        ("max(recovery_point, flushed)", "recovery_point"),
        ("return log_end", "return flushed"),
    ),
    *_in(
        "recovery.py",
        "recovery_us",
        ("bytes_per_s <= 0", "False"),
        ("seconds * 1_000_000 +", ""),
        ("+ rest * 1_000_000 // bytes_per_s", ""),
    ),
    *_in(
        "recovery.py",
        "starts_on_empty_disk",
        ("reformatted or", ""),
        ("or rules.controller != Controller.KRAFT", ""),
    ),
    *_in(
        "recovery.py",
        "forgets_epoch",
        ("rules.exits_over_truncation and", ""),
        ("<", "<="),
    ),
    *_in(
        "recovery.py",
        "exits_over_truncation",
        ("rules.exits_over_truncation and", ""),
        ("fetch_offset > leader_end", "fetch_offset >= leader_end"),
        ("fetch_offset > leader_end", "True"),
        ("and not unclean_enabled", ""),
    ),
    *_in(
        "partition.py",
        "answer_raises_hw",
        ("rules.answer_raises_hw", "True"),
    ),
    *_in(
        "shutdown.py",
        "stops_fetching",
        ("not in_isr and", ""),
        ("or not was_leader", ""),
        ("rules.controller == Controller.KRAFT or", ""),
    ),
    *_in(
        "partition.py",
        "write_waits",
        ("readers > 0 or held", "held"),
        ("readers > 0 or held", "readers > 0"),
        ("readers > 0", "readers > 1"),
    ),
    *_in(
        "election.py",
        "waits_for_imbalance",
        ("and rules.check_from_imbalance", ""),
        ("rules.controller == Controller.KRAFT and", ""),
    ),
    *_in(
        "election.py",
        "moves_back",
        ("missing > 0", "missing > 1"),
        ("missing * 100 > preferred", "missing * 100 >= preferred"),
        ("rules.controller == Controller.KRAFT", "False"),
    ),
    *_in(
        "election.py",
        "go_limit",
        ("else -1", "else 0"),
        ("GO_MAX if", "-1 if"),
    ),
    *_in(
        "shutdown.py",
        "must_wait",
        ("and led", ""),
        ("rules.controller == Controller.KRAFT and", ""),
    ),
    *_in(
        "shutdown.py",
        "has_reported",
        ("applied <= max(last_heartbeat, 0)", "applied < max(last_heartbeat, 0)"),
        ("applied <= max(last_heartbeat, 0)", "applied <= last_heartbeat"),
        ("applied <= max(last_heartbeat, 0)", "True"),
    ),
    *_in(
        "releases.py",
        "",
        ("    tick_divisor=2,", "    tick_divisor=5,"),
        ("    log_end_exempt=True,", "    log_end_exempt=False,"),
        ("    hw_waits_for_caught_up=True,", "    hw_waits_for_caught_up=False,"),
        ("    expand_needs_epoch_start=True,", "    expand_needs_epoch_start=False,"),
        ("    prev_leo_monotone=True,", "    prev_leo_monotone=False,"),
        ("    hw_ignores_ineligible=True,", "    hw_ignores_ineligible=False,"),
        ("    hw_frozen_under_min_isr=True,", "    hw_frozen_under_min_isr=False,"),
        ("    clock=Clock.FETCH_TIME,", "    clock=Clock.READ_END,"),
        ("    reset=Reset.LEADER_EPOCH,", "    reset=Reset.EVERY_CALL,"),
        ("    reset=Reset.EVERY_CALL,", "    reset=Reset.LEADER_EPOCH,"),
        ("    kraft_shrink_bumps=True,", "    kraft_shrink_bumps=False,"),
        (
            "    registration_retry=RegistrationRetry.UP_TO_HALF_SESSION,",
            "    registration_retry=RegistrationRetry.UP_TO_SESSION,",
        ),
        ("    start_waits_for_session: bool = True", "    start_waits_for_session: bool = False"),
        ("    check_from_imbalance=True,", "    check_from_imbalance=False,"),
        ("    isr_lock=Lock.RW_ALWAYS,", "    isr_lock=Lock.RW_PRECHECK,"),
        ("NEVER: Final = -(1 << 60)", "NEVER: Final = 0"),
    ),
)

SIMULATION: tuple[Mutant, ...] = tuple(
    Mutant(file, function, room="simulation", **mutant)
    for file, functions in yaml.safe_load(
        Path(__file__).with_name("simulation.yaml").read_text(encoding="utf-8")
    ).items()
    for function, mutants in functions.items()
    for mutant in mutants
)
"""Of the simulation, listed in ``simulation.yaml``."""
