"""Several sources of one cluster, merged: where they disagree, and what nobody says.

Who is believed for what is the table of `isr_pipeline.clusters.believed`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import Bad
from isr_pipeline.base.files.words import counted, few, scalar
from isr_pipeline.clusters.assumptions import (
    BATCHES_PER_S,
    RECORD_BYTES,
    RECORDS_PER_S,
    Assumptions,
    is_internal,
)
from isr_pipeline.clusters.believed import (
    CONTROLLER,
    FEATURE,
    LOG_DIRS,
    OF_ALL,
    OF_BROKER,
    OF_PARTITION,
    OF_TOPIC,
    OWN,
    PLACE,
    RELEASE,
    REPLICATION_LISTENER,
    STARTED_WITH,
    Kept,
    Ledger,
    are_uuids,
    named,
)
from isr_pipeline.clusters.facts import (
    LIVE,
    METADATA,
    Facts,
    PartitionFacts,
    TopicFacts,
    is_secret,
)
from isr_pipeline.clusters.listeners import replication_listeners
from isr_pipeline.clusters.one_cluster import refuse_two_clusters
from isr_pipeline.clusters.retention import kept_by_time_s
from isr_pipeline.clusters.topics_text import ELR_COLUMN, WITHOUT_ELR, WITHOUT_ELR_KRAFT
from isr_pipeline.kafka.broker_config import KEYS, resolve
from isr_pipeline.kafka.known_keys import mistyped
from isr_pipeline.kafka.release_numbers import NUMBERS, kafkas_own, rule_set_text, version_of
from isr_pipeline.scenarios.cluster_file import ELR, read_setting

UNREAD_NAMED = 5
LAST_WITH_ZOOKEEPER = "3.9"
KNOWN_FEATURES = (
    "metadata.version",
    "kraft.version",
    ELR,
    "transaction.version",
    "group.version",
    "share.version",
    "streams.version",
)
"""Features that releases up to 4.3 have."""

OF_0_8 = ("replica.lag.max.messages",)
"""Settings that no rule after 0.8.2 reads."""

DISKLESS = ("diskless.enable",)
"""Settings of topics whose partitions have no ISR (KIP-1150)."""


def merge(
    sources: Sequence[Facts], release: str | None = None, features: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Merge what sources say of a cluster.

    Args:
        sources: in the order in which they were given.
        release: what the operator says of it, if anything.
        features: levels that the operator says.

    Returns:
        The fields of a cluster file (`isr_pipeline.scenarios.cluster_file`).

    Raises:
        InputError: sources of two clusters, no source with partitions, or a release that is none.
    """
    return _Merge(sorted(sources, key=lambda facts: facts.rank), features or {}).run(release)


class _Merge:
    """One merge.

    Args:
        sources: those believed most first.
        given_features: levels that go before those of all sources.
    """

    def __init__(self, sources: Sequence[Facts], given_features: Mapping[str, int]) -> None:
        self.sources = sources
        self.given_features = given_features
        self.assumed = Assumptions()
        self.ledger = Ledger()
        self.values_from = self.ledger.values_from
        self.left_out: list[str] = []
        self.unlisted: dict[tuple[str, str], set[str]] = {}
        """By listing and other source: topics whose settings the other alone shows."""
        self.unrated = 0
        """Partitions without a rate, of topics whose other partitions have one."""
        self.estimated = 0
        """Partitions whose rate is their size over `retention.ms`."""
        self.unplaced = 0
        """Replicas whose log dir is known by its id only, on brokers whose dirs have paths."""

    def run(self, release: str | None) -> dict[str, Any]:
        """Merge everything."""
        refuse_two_clusters(self.sources)
        topics = self._topics()
        number = self._release(release)
        self._tell_of_other_releases(number)
        controller = self._controller(number)
        features = self._features(number, controller)
        brokers = self._brokers(topics, number)
        own_listener = self._replication_listener()
        file_topics = self._file_topics(topics, number)
        self.assumed.service(controller)
        for facts in self.sources:
            self.left_out += facts.left_out
            has_listeners = any(True for _ in replication_listeners(facts))
            if not (facts.topics or facts.brokers or _settings_of(facts) or has_listeners):
                self.left_out.append(f"{named(facts)}: it has no setting that is used")
        return {
            "release": number,
            "controller": controller,
            "features": features,
            "settings": self.settings,
            "service": {},
            "replication_listener": own_listener,
            "brokers": brokers,
            "topics": file_topics,
            "values_from": _by_pattern(self.values_from),
            "assumed": self.assumed.listed,
            "conflicts": self.ledger.conflicts(),
            "left_out": [*dict.fromkeys(self.left_out), *_unread(self.sources)],
        }

    # ------------------------------------------------------------------ the cluster

    def _release(self, given: str | None) -> str:
        if given is not None:
            if rule_set_text(given) is None:
                raise InputError("--release", "", given, f"{NUMBERS}{kafkas_own(given)}")
            self.values_from["release"] = "--release"
            return given
        said = [
            (release, facts)
            for facts in self.sources
            for release in (facts.release, *facts.other_releases)
            if release is not None
        ]
        # while brokers are upgraded one by one, the cluster's protocol is that of the oldest
        told = self.ledger.pick(RELEASE, "release", said)
        if told is not None and rule_set_text(told) is None:
            self.left_out.append(f"release {told}, of which the simulator knows nothing")
            told = None
        if told is not None:
            return str(told)
        hints = [facts.release_hint for facts in self.sources if facts.release_hint]
        newest = max(hints, key=lambda hint: version_of(hint[0]) or (0,), default=None)
        if newest is not None and self._under_kraft() and newest == WITHOUT_ELR:
            newest = WITHOUT_ELR_KRAFT
        zookeeper = any(facts.controller == "zookeeper" for facts in self.sources)
        if zookeeper and (newest is None or (version_of(newest[0]) or ()) >= (4,)):
            newest = (LAST_WITH_ZOOKEEPER, "the last release that runs under ZooKeeper")
        return self.assumed.release(newest)

    def _tell_of_other_releases(self, release: str) -> None:
        """Tell what brokers keep of an older release, and what only an older one would read."""
        version = version_of(release) or (4,)
        for facts in self.sources:
            held = version_of(facts.protocol or release) or version
            if held < version[: len(held)]:
                self.left_out.append(
                    f"inter.broker.protocol.version or metadataVersion {facts.protocol} "
                    f"({facts.source}): the brokers follow rules of that release in part; here all "
                    f"are those of {release} (--release {facts.protocol} takes the others)"
                )
            old = _settings_of(facts) & set(OF_0_8)
            if old and version >= (0, 9):
                key = min(old)
                self.left_out.append(
                    f"{key} ({facts.source}): no rule after 0.8.2 reads it; "
                    "--release 0.8.2.2 if the brokers are that old"
                )

    def _controller(self, release: str) -> str:
        told = self.ledger.pick(
            CONTROLLER, "controller", ((facts.controller, facts) for facts in self.sources)
        )
        version = version_of(release) or (4,)
        if told == "zookeeper" and version >= (4,):
            source = self.values_from["controller"]
            raise InputError(source, "controller", "zookeeper", f"kraft: the release is {release}")
        if told:
            return str(told)
        hints = [facts.release_hint for facts in self.sources]
        likely = {WITHOUT_ELR: "zookeeper", ELR_COLUMN: "kraft"}
        hinted = (likely[hint] for hint in likely if hint in hints)
        return self.assumed.controller(release, next(hinted, None))

    def _hints_at(self, hint: tuple[str, str]) -> bool:
        return any(facts.release_hint == hint for facts in self.sources)

    def _under_kraft(self) -> bool:
        """Whether a source says that KRaft's controllers elect leaders."""
        return any(facts.controller == "kraft" for facts in self.sources)

    def _features(self, release: str, controller: str) -> dict[str, Any]:
        names = sorted({name for facts in self.sources for name in facts.features})
        features: dict[str, Any] = {}
        for name in names:
            said = ((facts.features.get(name), facts) for facts in self.sources)
            level = self.ledger.pick(FEATURE, f"features.{name}", said)
            if name in KNOWN_FEATURES:
                features[name] = level
            else:
                self.left_out.append(f"feature {name} {level}: unknown")
        for name, level in self.given_features.items():
            features[name] = level
            self.values_from[f"features.{name}"] = "--feature"
        if features.get(ELR) and (version_of(release) or (4,)) < (4,):
            source = self.values_from[f"features.{ELR}"]
            raise InputError(
                source, f"features.{ELR}", features[ELR], f"0: the release is {release}"
            )
        if ELR not in features:
            # a tool's lines may have been chosen; a log or a live cluster has all features
            shown = any(f.features for f in self.sources if f.rank in (LIVE, METADATA))
            level = self.assumed.eligible_leader_replicas(release, controller, shown=shown)
            if level is not None:
                features[ELR] = level
            elif "release" not in self.values_from and self._hints_at(ELR_COLUMN):
                self.assumed.no_eligible_leaders(release)
        return features

    def _replication_listener(self) -> bool:
        said = [(own, facts) for facts in self.sources for own in replication_listeners(facts)]
        told = self.ledger.pick(REPLICATION_LISTENER, "replication_listener", said)
        return self.assumed.replication_listener() if told is None else bool(told)

    # ------------------------------------------------------------------ brokers and settings

    def _brokers(self, topics: dict[str, TopicFacts], release: str) -> list[dict[str, Any]]:
        named = {number for facts in self.sources for number in facts.brokers}
        replicas = {
            broker
            for topic in topics.values()
            for partition in topic.partitions.values()
            for broker in partition.replicas or ()
        }
        every = sorted(named | replicas)
        for facts in self.sources:
            absent = sorted(replicas - set(facts.brokers)) if facts.names_all_brokers else []
            if absent:
                ids = ", ".join(str(broker) for broker in absent)
                self.left_out.append(
                    f"broker {ids} holds replicas and is not registered ({facts.source}); "
                    "here it is up"
                )
            idle = sorted(set(every) - replicas - set(facts.brokers))
            if idle and facts.names_all_brokers:
                ids = ", ".join(str(broker) for broker in idle)
                self.left_out.append(
                    f"broker {ids} is named by other sources and is not registered "
                    f"({facts.source}); here it is up"
                )
        own = self._settings(every, release)
        brokers: list[dict[str, Any]] = []
        for number in every:
            said = [(facts.brokers.get(number), facts) for facts in self.sources]
            at = f"brokers.{number}"
            rack = self.ledger.pick(
                OF_BROKER, f"{at}.rack", ((b.rack if b else None, f) for b, f in said), "rack"
            )
            brokers.append(
                {
                    "id": number,
                    "rack": rack,
                    "log_dirs": self._log_dirs(number, topics),
                    "settings": own[number],
                }
            )
            if self.ledger.pick(
                OF_BROKER, f"{at}.fenced", ((b.fenced if b else None, f) for b, f in said)
            ):
                self.left_out.append(f"broker {number} is fenced; here it is up")
            self.values_from.pop(f"{at}.fenced", None)
        self._empty(sorted(named - replicas))
        self._without_a_rack([b["id"] for b in brokers if b["rack"] is None], len(brokers))
        self.dirs_of = {b["id"]: b["log_dirs"] for b in brokers}
        self.only_dir = {b: dirs[0] for b, dirs in self.dirs_of.items() if len(dirs) == 1}
        return brokers

    def _empty(self, brokers: list[int]) -> None:
        """Assume that brokers which hold nothing are there: a controller may be named like one."""
        if brokers:
            by = [f.source for f in self.sources if not f.brokers.keys().isdisjoint(brokers)]
            why = f"{', '.join(by)} names them, and no partition is on them"
            self.assumed.add(f"broker {few(brokers)}", "up and empty", why)

    def _without_a_rack(self, brokers: list[int], of: int) -> None:
        """Assume that brokers have no rack, where others have one and nobody shows all of these."""
        unknown = [number for number in brokers if number not in self._known_racks()]
        if unknown and len(brokers) < of:
            self.assumed.add(f"rack of broker {few(unknown)}", None, "only others' racks are told")

    def _known_racks(self) -> set[int]:
        """Brokers whose rack some source would tell."""
        registered = (f for f in self.sources if f.rank in (LIVE, METADATA))
        return {*self.whole, *(number for f in registered for number in f.brokers)}

    def _log_dirs(self, broker: int, topics: dict[str, TopicFacts]) -> list[str]:
        """The broker's log dirs: by path if any source has paths, else by their uuids."""
        said = [
            (facts.brokers[broker].log_dirs or None, facts)
            for facts in self.sources
            if broker in facts.brokers
        ] or [(facts.log_dirs or None, facts) for facts in self.sources]
        chosen = self.ledger.pick(
            LOG_DIRS,
            f"brokers.{broker}.log_dirs",
            ((tuple(sorted(dirs)) if dirs else None, facts) for dirs, facts in said),
            "log_dirs",
        )
        used = {
            partition.log_dirs[broker]
            for topic in topics.values()
            for partition in topic.partitions.values()
            if broker in partition.log_dirs
        }
        if chosen and not are_uuids(chosen):
            used = {one for one in used if not are_uuids((one,))}
        return sorted({*(chosen or ()), *used})

    def _settings(self, brokers: list[int], release: str) -> dict[int, dict[str, Any]]:
        """What holds for all brokers goes to ``self.settings``; what is left is a broker's own."""
        self.defaults = resolve(rule_set_text(release) or release, {})
        self.settings: dict[str, Any] = {}
        keys = {key for facts in self.sources for key in _settings_of(facts)}
        self.whole = {
            number: facts
            for facts in reversed(self.sources)
            for number, broker in facts.brokers.items()
            if broker.settings_whole
        }
        own: dict[int, dict[str, Any]] = {number: {} for number in brokers}
        for key in sorted(keys):
            at = f"settings.{key}"
            of_all = self.ledger.kept(
                OF_ALL, at, [(self._value(f.settings.get(key), key, f), f) for f in self.sources]
            )
            started = self._started_with(key, of_all)
            each = self._each(key, brokers, of_all, started)
            common = of_all[0]
            of_whole = [value for number, value in each.items() if number in self.whole]
            if common is None and of_whole:
                common = Counter(of_whole).most_common(1)[0][0]
                source = next(
                    (
                        self.values_from[f"brokers.{n}.settings.{key}"]
                        for n, v in each.items()
                        if v == common and f"brokers.{n}.settings.{key}" in self.values_from
                    ),
                    None,
                )
                if source is not None:
                    self.values_from[f"settings.{key}"] = source
            elif common is None:
                common = started[0]
            if common is not None and (of_all[1] is not None or common != self.defaults[key]):
                self.settings[key] = common
            else:
                self.values_from.pop(f"settings.{key}", None)
            for number in brokers:
                at = f"brokers.{number}.settings.{key}"
                if number in each and each[number] != common:
                    own[number][key] = each[number]
                    if started[1] and each[number] == started[0]:
                        self.values_from.setdefault(at, named(started[1]))
                else:
                    self.values_from.pop(at, None)
        silent = [number for number in brokers if number not in self.whole]
        if silent:
            self._silent(silent, bool(self.whole))
        return own

    def _each(self, key: str, brokers: list[int], of_all: Kept, started: Kept) -> dict[int, Any]:
        """Value of each broker for which somebody says one; every contradiction is listed."""
        each: dict[int, Any] = {}
        for number in brokers:
            at = f"brokers.{number}.settings.{key}"
            value, source = self.ledger.kept(
                OWN,
                at,
                [
                    (self._value(facts.brokers[number].settings.get(key), key, facts), facts)
                    for facts in self.sources
                    if number in facts.brokers
                ],
                key,
            )
            if of_all[1] and source and source.rank > of_all[1].rank:
                # What is set for all brokers while they run outdoes what a broker was started with
                # (KIP-226).
                if value != of_all[0]:
                    self.ledger.conflict(at, of_all, (value, source), key)
                value = None
            if value is None and number in self.whole and of_all[1] is None:
                value, source = self.defaults[key], self.whole[number]
            if value is not None and source and started[1] and value != started[0]:
                self.ledger.conflict(at, (value, source), started, key)
            value = started[0] if value is None else value
            if value is not None:
                each[number] = value
        return each

    def _started_with(self, key: str, of_all: Kept) -> Kept:
        """What probably every broker was started with, where nothing is set for all while they run.

        A topic's listing names both; from another source, what is outdone is a conflict.
        """
        said = [
            (self._value(text, key, facts), facts)
            for facts in self.sources
            for text in facts.started_with.get(key, ())
        ]
        if of_all[1] is None:
            return self.ledger.kept(STARTED_WITH, f"settings.{key}", said)
        for value, facts in said:
            if facts is not of_all[1] and value not in (None, of_all[0]):
                self.ledger.conflict(f"settings.{key}", of_all, (value, facts), key)
        return None, None

    def _silent(self, brokers: list[int], others: bool) -> None:
        """Assume the settings of brokers of which nobody said all."""
        ids = ", ".join(str(number) for number in brokers[:5])
        ids += f" and {len(brokers) - 5} more" if len(brokers) > 5 else ""
        value = "as the other brokers'" if others else "the release's defaults"
        shared = ", ".join(facts.source for facts in self.sources if facts.started_with)
        if shared:
            value = f"what {shared} says of any, else {value}"
        self.assumed.add(
            f"settings of broker {ids}", value, "no source has all of them (kafka-configs.sh --all)"
        )

    def _value(self, text: str | None, key: str, facts: Facts) -> Any:
        """A setting in its own type; what the simulator cannot take is left out."""
        if text is None:
            return None
        try:
            return read_setting(key, text if _is_text(key) else scalar(text))
        except Bad as bad:
            self.left_out.append(f"{key}={text[:60]} ({facts.source}): not {bad.allowed}")
            return None

    # ------------------------------------------------------------------ topics

    def _topics(self) -> dict[str, TopicFacts]:
        """Every topic with replicas, as the sources together have it."""
        found: dict[str, TopicFacts] = {}
        for name in sorted({name for facts in self.sources for name in facts.topics}):
            said = [(facts.topics[name], facts) for facts in self.sources if name in facts.topics]
            assigned = [one for one in said if any(p.replicas for p in one[0].partitions.values())]
            if assigned:
                found[name] = self._topic(name, said, assigned[0][0])
            else:
                kinds = ", ".join(sorted({facts.kind for _, facts in said}))
                self.left_out.append(f"topic {name}: only {kinds} names it, without its replicas")
        if not found:
            names = ", ".join(facts.source for facts in self.sources)
            allowed = "a source that says which brokers hold which partitions"
            raise InputError(names, "", "no partition with its replicas", allowed)
        return found

    def _topic(
        self, name: str, said: list[tuple[TopicFacts, Facts]], best: TopicFacts
    ) -> TopicFacts:
        merged = TopicFacts()
        at = f"topics.{name}.partitions"
        for number in sorted(best.partitions):
            here = [
                (topic.partitions[number], facts)
                for topic, facts in said
                if number in topic.partitions
            ]
            merged.partitions[number] = self._partition(name, number, here, at)
        others = {n for topic, _ in said for n, p in topic.partitions.items() if p.replicas}
        more = sorted(others - set(best.partitions))
        if more:
            self.left_out.append(
                f"partition {more[0]} of {name} and others that only the less believed source has"
                if len(more) > 1
                else f"partition {more[0]} of {name}, which only the less believed source has"
            )
        listed = next(facts for topic, facts in said if topic is best)
        of_each = sorted({len(p.replicas) for p in best.partitions.values() if p.replicas})
        made = {"partitions": [len(best.partitions)], "replicas": of_each}
        for topic, facts in said:
            for what, count in topic.wanted.items():
                if made[what] != [count]:
                    kept = made[what][0] if len(made[what]) == 1 else made[what]
                    self.ledger.conflict(
                        f"topics.{name}.{what}", (kept, listed), (count, facts), ""
                    )
        # who has all of a topic's settings also says what it does not set
        told = OF_TOPIC.sorted(said, name)
        first, believed = told[0]
        for key in sorted({key for topic, _ in told for key in topic.settings}):
            values = [(topic.settings.get(key), facts) for topic, facts in told]
            if first.settings_whole and key not in first.settings:
                self._not_its_own(name, key, (first, believed), told)
                continue
            value, source = self.ledger.kept(
                OF_TOPIC, f"topics.{name}.settings.{key}", values, key, name
            )
            if first.settings_mixed and source is not believed and key not in first.settings:
                # a listing shows either all that a topic sets, or, without the right to it, nothing
                if first.settings:
                    del self.values_from[f"topics.{name}.settings.{key}"]
                    self.ledger.conflict(
                        f"topics.{name}.settings.{key}", (None, believed), (value, source), key
                    )
                    continue
                self.unlisted.setdefault((believed.source, named(source)), set()).add(name)
            merged.settings[key] = value
            merged.settings_mixed |= first.settings_mixed
        self._effective(name, merged, told)
        self._estimate_rates(name, merged, [topic for topic, _ in told])
        return merged

    def _estimate_rates(self, name: str, merged: TopicFacts, said: Sequence[TopicFacts]) -> None:
        """Take a partition's size over `retention.ms` for its rate, where nobody measured any."""
        partitions = merged.partitions.values()
        if any(one.records_per_s is not None for one in partitions) or is_internal(name):
            return
        kept_s = kept_by_time_s(said, max((one.size_bytes or 0 for one in partitions), default=0))
        if kept_s is None:
            return
        rates = {
            number: round(one.size_bytes / kept_s / RECORD_BYTES, 3)
            for number, one in merged.partitions.items()
            if one.size_bytes is not None
        }
        if max(rates.values(), default=0) <= RECORDS_PER_S:
            return  # the topic may be young, or new: the usual assumption is more
        for number, rate in rates.items():
            merged.partitions[number].records_per_s = rate
        self.estimated += len(rates)

    def _effective(
        self, name: str, merged: TopicFacts, said: list[tuple[TopicFacts, Facts]]
    ) -> None:
        """What holds for a topic, where a source says that and not who sets it."""
        first = said[0][0]
        for topic, facts in said:
            if topic.settings_whole:
                continue
            for key, text in ((k, v) for k, v in topic.effective.items() if k in KEYS):
                at = f"topics.{name}.settings.{key}"
                known = merged.settings.get(key, merged.effective.get(key))
                if first.settings_whole and known is None:
                    known = first.effective.get(key)
                if known is not None and known != text:
                    kept_from = next(f for t, f in said if known in _texts_of(t, key))
                    self.ledger.conflict(at, (known, kept_from), (text, facts), key)
                elif known is None and first.settings_whole:
                    facts.start_with(key, text)  # the topic does not set it, so brokers do
                elif known is None:
                    merged.effective[key] = text
                    self.values_from[at] = named(facts)

    def _not_its_own(
        self,
        name: str,
        key: str,
        believed: tuple[TopicFacts, Facts],
        said: list[tuple[TopicFacts, Facts]],
    ) -> None:
        """A setting that a topic does not set for itself, though a less believed source shows it.

        kafka-topics.sh shows what brokers set for all topics beside what topics set.
        """
        effective = believed[0].effective.get(key)
        for topic, facts in said:
            text = topic.settings.get(key)
            if text is None or text == effective:
                continue
            if effective is not None or not topic.settings_mixed:
                at = f"topics.{name}.settings.{key}"
                self.ledger.conflict(at, (effective, believed[1]), (text, facts), key)
            elif key not in KEYS:
                facts.unread.add(key)
            else:
                facts.start_with(key, text)

    def _partition(
        self, name: str, number: int, said: list[tuple[PartitionFacts, Facts]], at: str
    ) -> PartitionFacts:
        which = f"{name}-{number}"
        merged = PartitionFacts()

        def pick(field: str) -> Any:
            values = [(getattr(p, field), facts) for p, facts in said]
            found = self.ledger.pick(OF_PARTITION, f"{which}.{field}", values, field)
            source = self.values_from.pop(f"{which}.{field}", None)
            if source is not None:
                self.values_from[f"{at}.{field}"] = source
            return found

        merged.replicas = pick("replicas")
        merged.leader = pick("leader")
        merged.isr = pick("isr")
        merged.records_per_s = pick("records_per_s")
        merged.size_bytes = max((p.size_bytes for p, _ in said if p.size_bytes), default=None)
        for broker in merged.replicas or ():
            dirs = [(p.log_dirs.get(broker), facts) for p, facts in said]
            one = self.ledger.pick(PLACE, f"{which}.log_dirs.{broker}", dirs, "log_dirs")
            source = self.values_from.pop(f"{which}.log_dirs.{broker}", None)
            if one is not None and source is not None:
                merged.log_dirs[broker] = one
                self.values_from[f"{at}.log_dirs"] = source
        return merged

    def _file_topics(self, topics: dict[str, TopicFacts], release: str) -> list[dict[str, Any]]:
        """The topics as a cluster file has them."""
        written = []
        without: list[str] = []
        acks = self.assumed.acks(release)
        for name, topic in topics.items():
            reason = self._not_replicated(topic)
            if reason:
                self.left_out.append(f"topic {name} ({len(topic.partitions)} partitions): {reason}")
                continue
            said = (p.records_per_s for p in topic.partitions.values())
            rates = [rate for rate in said if rate is not None]
            if not rates and is_internal(name):
                rates = [0]
            elif not rates:
                without.append(name)
            written.append(self._file_topic(name, topic, acks, max(rates, default=None)))
        if not written:
            names = ", ".join(facts.source for facts in self.sources)
            allowed = "at least one topic with two replicas"
            raise InputError(names, "", "no topic that is replicated", allowed)
        shown = (
            topic.settings_mixed and (topic.settings or topic.effective)
            for topic in topics.values()
        )
        if any(shown):
            self.assumed.topic_settings()
        for (listing, other), topics_without in self.unlisted.items():
            self.assumed.unlisted_settings(listing, other, len(topics_without))
        if without:
            self.assumed.rates(len(without))
        if self.estimated:
            self.assumed.estimated_rates(self.estimated)
        if self.unrated:
            self.assumed.idle(self.unrated)
        if self.unplaced:
            self.left_out.append(
                f"log dirs of {self.unplaced} replicas, which are known by id only "
                "(kafka-log-dirs.sh --describe has their paths)"
            )
        produced = [t["partitions"] for t in written if not is_internal(t["name"])]
        self.assumed.batches(rated=len(produced) > len(without), unrated=bool(without))
        return written

    @staticmethod
    def _not_replicated(topic: TopicFacts) -> str:
        """Why a topic has no ISR to simulate, if so."""
        if any(topic.settings.get(key) == "true" for key in DISKLESS):
            return "diskless, which has no ISR"
        if all(len(p.replicas or ()) < 2 for p in topic.partitions.values()):
            return "replication factor 1, nothing to replicate"
        return ""

    def _file_topic(
        self, name: str, topic: TopicFacts, acks: int | str, rate: float | None
    ) -> dict[str, Any]:
        """One of them; ``rate``: of its busiest partition, None if nobody says any."""
        settings: dict[str, Any] = {}
        for key, text in topic.settings.items():
            value = self._value(text, key, self.sources[0]) if key in KEYS else scalar(text)
            if topic.settings_mixed and self.settings.get(key) == value and key in self.settings:
                continue  # a broker's own, which the listing shows with every topic
            if value is not None:
                settings[key] = value
        for key, text in topic.effective.items():
            value = self._value(text, key, self.sources[0])
            if value in (None, self.settings.get(key, self.defaults[key])):
                del self.values_from[f"topics.{name}.settings.{key}"]
            else:
                settings[key] = value
                topic.settings_mixed = True
        stream = {
            "acks": acks,
            "records_per_batch": math.ceil(rate / BATCHES_PER_S) if rate else RECORDS_PER_S,
            "record_bytes": RECORD_BYTES,
        }
        partitions = []
        for number, partition in topic.partitions.items():
            replicas = partition.replicas or ()
            dirs = [self._dir(partition, broker) for broker in replicas]
            unsaid = RECORDS_PER_S if rate is None else 0
            own = partition.records_per_s
            self.unrated += own is None and rate is not None and not is_internal(name)
            partitions.append(
                {
                    "id": number,
                    "replicas": list(replicas),
                    "leader": replicas[0] if partition.leader is None else partition.leader,
                    "isr": list(replicas if partition.isr is None else partition.isr),
                    "log_dirs": dirs if any(dirs) else None,
                    "records_per_s": unsaid if own is None else own,
                }
            )
        return {"name": name, "settings": settings, "produce": [stream], "partitions": partitions}

    def _dir(self, partition: PartitionFacts, broker: int) -> str | None:
        """Where a replica lies; None if nobody says which of its broker's dirs it is."""
        only = self.only_dir.get(broker)
        known = partition.log_dirs.get(broker, only)
        if known is not None and known not in self.dirs_of[broker]:
            self.unplaced += only is None
            return only
        return known


# ---------------------------------------------------------------------------- small things


def _texts_of(topic: TopicFacts, key: str) -> tuple[str | None, str | None]:
    return topic.settings.get(key), topic.effective.get(key)


def _settings_of(facts: Facts) -> set[str]:
    """Keys that a source sets, for whomever."""
    own = {key for broker in facts.brokers.values() for key in broker.settings}
    return {*facts.settings, *facts.started_with, *own}


def _unread(sources: Sequence[Facts]) -> list[str | dict[str, Any]]:
    """Keys that no cluster file has: how many, and which; a word without a dot may be no key."""
    keys = sorted({key for facts in sources for key in facts.unread})
    names = [key for key in keys if "." in key]
    shown = len(names) <= UNREAD_NAMED and not any(map(is_secret, names))
    named = f": {', '.join(names)}" if shown else " (--json names them)"
    what = f"{counted(len(keys), 'key')} that no rule reads{named if names else ''}"
    return [*filter(None, map(mistyped, keys)), {"what": what, "keys": names}] if keys else []


def _is_text(key: str) -> bool:
    return key in KEYS and KEYS[key].type == "list"


def _by_pattern(values_from: dict[str, str]) -> dict[str, str]:
    """Write a source once for all topics, or brokers, that share it (``brokers.*.rack``)."""
    groups: dict[str, list[tuple[str, str]]] = {}
    plain: dict[str, str] = {}
    for what, source in values_from.items():
        group, _, rest = what.partition(".")
        if group in ("topics", "brokers"):
            tail = ".partitions." if ".partitions." in rest else ".settings."
            _, middle, field = rest.rpartition(tail if tail in rest else ".")
            groups.setdefault(f"{group}.*{middle}{field}", []).append((what, source))
        else:
            plain[what] = source
    for pattern, entries in groups.items():
        common = Counter(source for _, source in entries).most_common(1)[0][0]
        plain[pattern] = common
        plain.update({what: source for what, source in entries if source != common})
    return dict(sorted(plain.items()))
