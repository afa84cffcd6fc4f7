"""The mutants: one wrong line each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change of one line.

    Args:
        file: module of `isr_pipeline/kafka/`.
        function: the function it is in, or "" for module level.
        old: text that stands there, within one line.
        new: text that replaces it.
    """

    file: str
    function: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """How it is called on the command line."""
        return f"{self.file}:{self.function or 'module'}: {self.old} -> {self.new}"


def _in(file: str, function: str, *changes: tuple[str, str]) -> list[Mutant]:
    return [Mutant(file, function, old, new) for old, new in changes]


MUTANTS: tuple[Mutant, ...] = (
    *_in(
        "replica.py",
        "create",
        ("now if rules[CLOCK] == _READ_END else NEVER", "NEVER"),
        ("now if rules[CLOCK] == _READ_END else NEVER", "now"),
        ("rec[row, PREV_LEADER_LEO] = 0", "rec[row, PREV_LEADER_LEO] = UNKNOWN"),
        ("rec[row, LEO_TIME] = now", "rec[row, LEO_TIME] = NEVER"),
    ),
    *_in(
        "replica.py",
        "on_fetch",
        ("            rec[row, LAST_CAUGHT_UP] = now", "            pass"),
        ("= max(rec[row, LAST_CAUGHT_UP], at_end)", "= min(rec[row, LAST_CAUGHT_UP], at_end)"),
        ("= max(rec[row, LAST_CAUGHT_UP], at_end)", "= at_end"),
        ("= max(rec[row, LAST_CAUGHT_UP], at_previous)", "= at_previous"),
        ("elif offset >= rec[row, PREV_LEADER_LEO]", "elif offset > rec[row, PREV_LEADER_LEO]"),
        ("elif offset >= rec[row, PREV_LEADER_LEO]", "elif False"),
        (
            "max(rec[row, PREV_LEADER_LEO], leader_leo)",
            "min(rec[row, PREV_LEADER_LEO], leader_leo)",
        ),
        ("rules[PREV_LEO_MONOTONE] != 0", "rules[PREV_LEO_MONOTONE] == 0"),
        ("rec[row, LAST_FETCH] = fetch_time", "rec[row, LAST_FETCH] = now"),
        ("rec[row, LEO_TIME] = now", "rec[row, LEO_TIME] = fetch_time"),
        ("rec[row, LEO] = offset", "rec[row, LEO] = max(rec[row, LEO], offset)"),
    ),
    *_in(
        "replica.py",
        "on_fetch_again",
        ("rec[row, LAST_CAUGHT_UP] = now", "pass"),
        ("rec[row, LAST_FETCH] = now", "pass"),
    ),
    *_in(
        "replica.py",
        "_caught_up_times",
        ("return now, now", "return now, previous"),
        ("            return now, previous", "            return now, now"),
        ("return fetch_time, previous", "return now, previous"),
        ("rules[KIP501] != _S1_PR", "rules[KIP501] == _S1_PR"),
        ("if rules[CLOCK] == _ISSUE_TEXT", "if False"),
    ),
    *_in(
        "replica.py",
        "on_failed_read",
        ("rules[FAILED_READ_APPLIED] == 0", "False"),
        ("rec[row, LEO] = UNKNOWN", "pass"),
        ("rec[row, LEO_TIME] = now", "pass"),
        ("rec[row, LAST_FETCH] = BEFORE_NEVER", "rec[row, LAST_FETCH] = now"),
    ),
    *_in(
        "replica.py",
        "reset",
        ("rec[row, LAST_CAUGHT_UP] = now if in_isr else NEVER", "rec[row, LAST_CAUGHT_UP] = now"),
        ("rec[row, LEO_TIME] = now", "pass"),
        ("rec[row, PREV_LEADER_LEO] = epoch_start", "pass"),
        ("rec[row, LAST_FETCH] = now if in_isr else NEVER", "rec[row, LAST_FETCH] = now"),
        ("rec[row, LAST_FETCH] = now\n", "pass\n"),
        ("rec[row, BROKER_EPOCH] = NO_BROKER_EPOCH", "pass"),
        ("clear_pending(rec, row)", "pass"),
        ("BEFORE_NEVER if kind == _EVERY_CALL_SENTINEL else NEVER", "NEVER"),
    ),
    *_in(
        "replica.py",
        "_forget_offsets",
        ("rec[row, PREV_LEADER_LEO] = UNKNOWN", "pass"),
        ("rec[row, LEO] = UNKNOWN", "pass"),
        ("rec[row, START] = UNKNOWN", "pass"),
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
        ("counts_pending(rules) and is_pending(rec, row)", "False"),
    ),
    *_in(
        "replica.py",
        "is_caught_up",
        ("rec[row, LEO] == leader_leo", "rec[row, LEO] >= leader_leo"),
        ("rules[LOG_END_EXEMPT] != 0 and", ""),
    ),
    *_in(
        "replica.py",
        "holds_high_watermark",
        ("rules[HW_LOG_END] != 0 and rec[row, LEO] == leader_leo", "False"),
    ),
    *_in(
        "replica.py",
        "is_out_of_sync",
        ("behind > lag_max_messages", "behind >= lag_max_messages"),
        ("rec[row, LEO] >= 0", "rec[row, LEO] > 0"),
        ("rec[row, LEO] >= 0", "True"),
    ),
    *_in(
        "partition.py",
        "tick_period",
        ("lag_max // rules[TICK_DIVISOR]", "lag_max"),
        ("lag_max // rules[TICK_DIVISOR]", "lag_max // 2"),
    ),
    *_in(
        "partition.py",
        "effective_min_isr",
        ("min(min_isr, rf)", "max(min_isr, rf)"),
        ("rules[MIN_ISR_CAPPED] != 0", "True"),
    ),
    *_in(
        "partition.py",
        "next_high_watermark",
        ("size_of(isr) < min_isr_eff", "size_of(isr) <= min_isr_eff"),
        ("size_of(isr) < min_isr_eff", "size_of(maximal_isr) < min_isr_eff"),
        ("rules[HW_FROZEN_UNDER_MIN_ISR] != 0", "True"),
        ("return max(hw, lowest)", "return lowest"),
        ("return max(hw, lowest)", "return min(hw, lowest)"),
        ("leo < lowest and", ""),
        ("if position == leader_pos:", "if False:"),
    ),
    *_in(
        "partition.py",
        "_hw_waits_for",
        ("(maximal_isr >> position) & 1", "False"),
        ("rules[HW_WAITS_FOR_CAUGHT_UP] == 0", "False"),
        ("rules[HW_WAITS_FOR_CAUGHT_UP] == 0", "True"),
        ("rules[HW_IGNORES_INELIGIBLE] != 0 and", ""),
        ("not (eligible >> position) & 1", "False"),
    ),
    *_in(
        "partition.py",
        "out_of_sync_mask",
        ("not (isr >> position) & 1", "False"),
        ("position == leader_pos or", ""),
    ),
    *_in(
        "partition.py",
        "may_expand",
        ("leo < hw", "leo <= hw"),
        ("leo < epoch_start", "leo <= epoch_start"),
        ("rules[EXPAND_NEEDS_EPOCH_START] != 0 and", ""),
        ("rules[EXPAND_NEEDS_ELIGIBLE] != 0 and", ""),
        ("not (eligible >> pos) & 1", "False"),
        ("rules[EXPAND_NEEDS_LAG] != 0", "True"),
        ("rules[EXPAND_NEEDS_LAG] != 0", "False"),
        ("change_in_flight or", ""),
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
        ("rules[ALTER_REVERTS] != 0", "True"),
        ("return _RESUBMIT", "return _STAY"),
        ("return _REVERT", "return _STAY"),
    ),
    *_in(
        "kip501.py",
        "add_pending",
        ("+= 1", "+= 2"),
        ("rec[row, first + slots + free] = 1", "rec[row, first + slots + free] += 2"),
    ),
    *_in(
        "kip501.py",
        "remove_pending",
        ("-= 1", "= 0"),
        ("rec[row, first + slots + slot] > 0 and", ""),
    ),
    *_in(
        "kip501.py",
        "contains_pending",
        ("rec[row, first + slots + slot] > 0 and", ""),
    ),
    *_in(
        "kip501.py",
        "counts_pending",
        ("rules[KIP501_ENABLED] != 0 and", ""),
        ("(_S1_DOC, _S1_PR, _S2)", "(_S1_DOC, _S1_PR)"),
    ),
    *_in(
        "kip501.py",
        "becomes_pending",
        ("offset >= rec[row, PREV_LEADER_LEO]", "offset > rec[row, PREV_LEADER_LEO]"),
    ),
    *_in(
        "kip501.py",
        "begin_read",
        ("and becomes_pending(rec, row, offset)", ""),
    ),
    *_in(
        "kip501.py",
        "should_resign",
        ("read_time > limit", "read_time >= limit"),
        ("since_last >= cooldown", "since_last > cooldown"),
        ("and other_live_isr_member", ""),
        ("and rules[KIP501_ENABLED] != 0", ""),
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
        ("if _valid(leader, target_isr, target_elr, acceptable):", "if False:"),
        ("election == _PREFERRED and", ""),
        ("if election == _UNCLEAN:", "if True:"),
        ("size_of(last_known) == 1", "size_of(last_known) >= 1"),
        ("elr_enabled and use_last_known and", "use_last_known and"),
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
        "partition_change_kraft",
        ("if forced or not elr_enabled:", "if not elr_enabled:"),
        ("(target_isr != 0 or elr_enabled) and", ""),
        ("rules[SHRINK_BUMPS_LEADER_EPOCH] != 0 and", ""),
        ("isr & ~new_isr", "new_isr & ~isr"),
        ("change == _NO_CHANGE and replicas_removed", "False"),
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
        ("(_STORAGE, _UNEXPECTED, _FENCED_EPOCH)", "(_UNEXPECTED, _FENCED_EPOCH)"),
        ("rules[FETCHER] == _KIP_461", "rules[FETCHER] != _KIP_461"),
        ("        return _DROP", "        return _DELAY"),
        ("rules[CORRUPT_KILLS_THREAD] != 0", "False"),
    ),
    *_in(
        "registration.py",
        "is_refused",
        ("now > session_end or (fenced and not outlives_fence(rules))", "True"),
        ("now > session_end or (fenced and not outlives_fence(rules))", "now > session_end"),
        ("(fenced and not outlives_fence(rules))", "fenced"),
        ("now > session_end", "now >= session_end"),
        ("or killed", "or True"),
    ),
    *_in(
        "registration.py",
        "retry_after",
        ("rules[REGISTRATION_RETRY] == _HEARTBEAT_INTERVAL", "True"),
        ("rules[REGISTRATION_RETRY] == _UP_TO_HALF_SESSION", "False"),
        ("FIRST_RETRY_US << min(tries, DOUBLINGS_MAX), most)", "FIRST_RETRY_US, most)"),
        ("rules[START_WAITS_FOR_SESSION] != 0", "True"),
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
        ("rules[FENCE_ENDS_SESSION] == 0", "True"),
        ("rules[CONTROLLER] == _KRAFT and", ""),
    ),
    *_in(
        "session.py",
        "check_period",
        ("rules[SESSIONS_CHECKED_BY_EIGHTHS] == 0", "False"),
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
        ("rules[FENCED_GET_SESSIONS] != 0", "True"),
    ),
    *_in(
        "log_dirs.py",
        "holds_metadata",
        ("rules[LOG_DIRS_REPORTED] != 0 and", ""),
        ("and log_dir == METADATA_DIR", ""),
    ),
    *_in(
        "log_dirs.py",
        "on_dir_failure",
        ("rules[IO_ERROR_HALTS] != 0 or", ""),
        ("dirs_left <= 0", "False"),
        ("or holds_metadata(rules, log_dir)", ""),
        ("rules[CONTROLLER] == _KRAFT and", ""),
        ("and rules[LOG_DIRS_REPORTED] == 0", ""),
    ),
    *_in(
        "election.py",
        "kraft_election",
        ("and rules[KRAFT_ELECTS_UNCLEANLY] != 0", ""),
        ("election == _ONLINE and", ""),
        ("and unclean_enabled", ""),
    ),
    *_in(
        "election.py",
        "last_member_leaves",
        ("and rules[LAST_MEMBER_LEAVES] != 0", ""),
        ("unclean_enabled and", ""),
    ),
    *_in(
        "election.py",
        "elect_kraft",
        ("or rules[LAST_KNOWN_MUST_LIVE] == 0", ""),
        ("last_known & acceptable != 0", "True"),
    ),
    *_in(
        "partition.py",
        "answer_raises_hw",
        ("rules[ANSWER_RAISES_HW] != 0", "True"),
    ),
    *_in(
        "shutdown.py",
        "stops_fetching",
        ("not in_isr and", ""),
        ("or not was_leader", ""),
        ("rules[CONTROLLER] == _KRAFT or", ""),
    ),
    *_in(
        "locks.py",
        "write_waits",
        ("readers > 0 or held", "held"),
        ("readers > 0 or held", "readers > 0"),
        ("readers > 0", "readers > 1"),
    ),
    *_in(
        "preferred.py",
        "waits_for_imbalance",
        ("and rules[CHECK_FROM_IMBALANCE] != 0", ""),
        ("rules[CONTROLLER] == _KRAFT and", ""),
    ),
    *_in(
        "preferred.py",
        "moves_back",
        ("missing > 0", "missing > 1"),
        ("missing * 100 > preferred", "missing * 100 >= preferred"),
        ("rules[CONTROLLER] == _KRAFT", "False"),
    ),
    *_in(
        "preferred.py",
        "go_limit",
        ("else -1", "else 0"),
        ("GO_MAX if", "-1 if"),
    ),
    *_in(
        "shutdown.py",
        "must_wait",
        ("and led", ""),
        ("rules[CONTROLLER] == _KRAFT and", ""),
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
        ("    start_waits_for_session=True,", "    start_waits_for_session=False,"),
        ("    check_from_imbalance=True,", "    check_from_imbalance=False,"),
        ('    isr_lock="rw_always",', '    isr_lock="rw_precheck",'),
        ("NEVER: Final = -(1 << 60)", "NEVER: Final = 0"),
    ),
)
