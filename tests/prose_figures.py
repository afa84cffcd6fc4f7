"""Every figure in the prose of README and docs, and what it is compared with.

``now`` compares with the code, a configuration file or a recorded result. ``dated`` is a figure
that was seen once: it has the day and what made it. ``given`` is no claim about this project: an
arithmetic of the sentence, a quotation, an example, a property of Kafka or of somebody's text.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from scipy import stats

from benchmarks import verdict_example
from benchmarks.detection import draw, nights
from benchmarks.findings.question import question
from isr_pipeline.base.errors import BudgetSpent, Refused
from isr_pipeline.clusters import live
from isr_pipeline.conformance import comparison
from isr_pipeline.conformance.observations import SHIPPED
from isr_pipeline.experiment import combinations, new_experiment
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import Experiment, load_experiment
from isr_pipeline.experiment.stages import planned_stages
from isr_pipeline.kafka import shutdown
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.night.airflow import wiring
from isr_pipeline.scenarios import cluster_file, faults, incidents, model
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.simulation import clients, controller, leader
from isr_pipeline.simulation.world import tables
from isr_pipeline.tables import pairs, summary
from isr_pipeline.verdicts import stages
from isr_pipeline.verdicts.blame import case, culprit
from isr_pipeline.verdicts.comparison import ONE_SIDED
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import LEANS_P
from isr_pipeline.worlds import encoder, size, template
from tests.figures import ROOT
from tools import lint, prose
from tools.lab.tools import Java


@dataclass(frozen=True, slots=True)
class Claim:
    """A piece of a page's prose with figures in it.

    Attributes:
        page: relative to the checkout.
        text: as it has to stand there, figures included.
        why: what the figures are compared with, or why with nothing.
    """

    page: str
    text: str
    why: str


def now(page: str, text: str, *values: object) -> Claim:
    """A piece whose ``{}`` are values of today's code, files or recorded results."""
    assert text.count("{}") == len(values), text
    return Claim(page, text.format(*map(_written, values)), "now")


def dated(page: str, day: str, made_by: str, *texts: str) -> list[Claim]:
    """Pieces with figures that were seen on a day, by a command or in a place."""
    return [Claim(page, text, f"{day}: {made_by}") for text in texts]


def given(page: str, why: str, *texts: str) -> list[Claim]:
    """Pieces with figures that say nothing of this project."""
    return [Claim(page, text, f"given: {why}") for text in texts]


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def _yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def _default_s(key: str) -> float:
    """Default of a time of Kafka's, in seconds."""
    default = KEYS[key].default
    assert isinstance(default, int)
    return default / 1000


def _lag_limits() -> list[float]:
    """Limits that the finding compares, in seconds, its reference's among them."""
    listed = configurations(_finding("lag-limit"))
    return sorted(float(one.params["replica.lag.time.max.ms"]) / 1000 for one in listed)


@cache
def _finding(name: str) -> Experiment:
    return load_experiment(ROOT / "benchmarks" / "findings" / f"{name}.yaml")


def _partitions(cluster: str) -> int:
    return sum(topic["partitions"] for topic in _yaml(f"config/clusters/{cluster}.yaml")["topics"])


def _recorded(name: str) -> list[dict[str, Any]]:
    lines = (ROOT / "isr_pipeline/conformance/recordings" / name).read_text().splitlines()
    return [json.loads(line) for line in lines]


def _recordings() -> list[dict[str, Any]]:
    return [line for file in SHIPPED for line in _recorded(file.name)]


def _cases() -> set[tuple[str, str]]:
    """Experiment and release of every recording."""
    return {(line["case"], line["release"]) for line in _recordings()}


def _memory_gb() -> float:
    """What the services of docker-compose.yaml may use together, those that end aside."""
    services = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())["services"]
    units = {"g": 1.0, "m": 1 / 1024}
    limits = [
        float(one["mem_limit"][:-1]) * units[one["mem_limit"][-1]]
        for name, one in services.items()
        if name != "airflow-init"
    ]
    return sum(limits)


def _looks() -> list[int]:
    """Scenarios that each look of the shipped budget has seen."""
    experiment = load_experiment("operators")
    panels = {"regression": 200, "confirm": 200}
    return [one.end for one in planned_stages(panels, experiment.budget)]


def _spent(share: float) -> str:
    """Part of the error that a look may make, in percent."""
    return f"{100 * math.log(1 + (math.e - 1) * share):.0f}"


def _faults_of(scenario: str, kind: str) -> dict[str, Any]:
    """The first fault of a kind in a scenario of the library."""
    file = f"isr_pipeline/scenarios/library/{scenario}.yaml"
    return next(one for one in _yaml(file)["faults"] if one["kind"] == kind)


README, FINDINGS = "README.md", "docs/findings.md"
OPERATIONS, TRUST, CONFORMANCE = (
    "docs/operations.md",
    "docs/trust.md",
    "docs/project/conformance.md",
)
RULES, CLUSTER = "docs/project/model-rules.md", "docs/your-cluster.md"
VERDICTS, STATISTICS, DETECTION = (
    "docs/verdicts.md",
    "docs/project/statistics.md",
    "docs/project/detection.md",
)
SIZING = "docs/project/sizing.md"


def claims() -> Iterable[Claim]:
    """All of them."""
    yield from _front()
    yield from _findings()
    yield from _model()
    yield from _rules()
    yield from _sizes_of_the_model()
    yield from _verdicts()
    yield from _running()
    yield from _files()


def _front() -> Iterable[Claim]:
    limits = _lag_limits()
    default = _default_s("replica.lag.time.max.ms")
    yield now(README, "each value beside the default of {} s", default)
    advised = sorted({10.0, default, 60.0})
    assert set(advised) <= set(limits)
    yield now(README, "names {} s, {} s and {} s, and measures none", *advised)
    yield from dated(README, "today", "tools/setup.py names it when it fails", "3 GB of disk")
    yield now(README, "simulates {} scenarios", _finding("lag-limit").panels.regression)
    yield now(README, "is of {} scenarios", _largest("lag-limit"))
    yield from dated(
        README, "2026-11-27", "`make finding` in a fresh clone",
        "it took 274 s of processor time on 2026-11-27",
    )  # fmt: skip
    yield from dated(
        "docs/own-proposal.md", "today", "test_claims runs w12 under both rule sets",
        "20 shrinks become one", "goes from 5 % to 72 %",
    )  # fmt: skip
    yield from _trust()
    night = json.loads((ROOT / "benchmarks/results/example-night.json").read_text())
    further = sum(stage["scenarios"] for stage in night["stages"])
    yield now(OPERATIONS, "a second night of {} scenarios", night["scenarios_used"] - further)
    yield now("CONTRIBUTING.md", "checks sentences over {} words", prose.WORDS_MAX)
    yield now(
        "CONTRIBUTING.md", "has at most {} lines, a file at most {},",
        lint.FUNCTION_LINES_MAX, lint.FILE_LINES_MAX,
    )  # fmt: skip
    yield from given(
        "CONTRIBUTING.md", "the machine, and a limit that CI sets",
        "On 2 cores.", "at most 90 minutes",
    )  # fmt: skip
    yield now(CLUSTER, "simulates {} scenarios", _finding("lag-limit").panels.regression)
    demo = _yaml("config/clusters/demo.yaml")
    own = next(one for one in demo["brokers"] if one["id"] == 4)["settings"]
    yield now(
        CLUSTER, "The lag limit of this cluster is {} s; its broker 4 has {} s of its own",
        demo["settings"]["replica.lag.time.max.ms"] // 1000,
        own["replica.lag.time.max.ms"] // 1000,
    )  # fmt: skip
    yield from given(
        CLUSTER, "the limit that test_claims simulates the scenario with",
        "stays online with 60 s",
    )  # fmt: skip
    drawn = json.loads(_demo_scenario())
    starts = sorted({one["start_ms"] / 1000 for one in drawn["faults"]})
    yield now(CLUSTER, "From {} s on broker 2 loses its links", f"{starts[0]:.1f}")
    yield now(CLUSTER, "At {} s it is killed", f"{starts[-1]:.1f}")


def _trust() -> Iterable[Claim]:
    """What the page says in short; the pages that it leads to have the same figures."""
    yield now(TRUST, "{} repetitions of {} experiments", len(_recordings()), len(_cases()))
    page = (ROOT / CONFORMANCE).read_text(encoding="utf-8")
    run = re.search(
        r"on (\S+) \(.*?\*\*(\d+) ms\*\*"
        r".*?\*\*([\d.]+)%\*\* of (\d+) .*?\*\*([\d.]+)%\*\* of (\d+) ",
        page[page.index("<!-- conformance:begin -->") :],
        re.DOTALL,
    )
    assert run is not None
    day, median, timelines, of_timelines, counts, of_counts = run.groups()
    yield now(
        TRUST, "On {} the simulated ISR and leader agreed in {} % of {} timelines",
        day, timelines, of_timelines,
    )  # fmt: skip
    yield now(TRUST, "median disagreement was {} ms for each ISR change", median)
    yield now(TRUST, "compared in counts: {} % of {} agree", counts, of_counts)
    vectors = (ROOT / "tests/data/oracle/vectors.jsonl").read_text().splitlines()
    yield now(TRUST, "{} timelines come from", len(vectors))
    yield now(TRUST, "{} public reports", len([*(ROOT / "tests/cases").glob("*.yaml")]))
    yield from dated(TRUST, "2026-11-22", "notes of the recordings", "as ±50 ms, now and then 150")


@cache
def _demo_scenario() -> str:
    experiment = load_experiment("demo-cluster").resized(200)
    return draw_scenario(experiment.source, "regression", 138).scenario_json


def _largest(finding: str) -> int:
    lines = (ROOT / "benchmarks/results/findings.jsonl").read_text().splitlines()
    return max(int(one["scenarios"]) for one in map(json.loads, lines) if one["finding"] == finding)


def _findings() -> Iterable[Claim]:
    yield from given(
        FINDINGS, "what stands behind a ratio", "**95 % interval**",
    )  # fmt: skip
    yield now(FINDINGS, "anew {} times within each stratum", summary.RESAMPLES)
    yield now(
        "docs/project/experiments/operators.md", "asks {} scenarios", question("lag-limit").panel
    )
    yield now(FINDINGS, "`replica.lag.time.max.ms` be {} s, {} s, {} s or {} s", *_lag_limits())
    lag = _default_s("replica.lag.time.max.ms")
    yield now(FINDINGS, "Each value beside the default of {} s", lag)
    yield now(FINDINGS, "one and a half limits: {} s by default", 1.5 * lag)
    yield now(FINDINGS, "`request.timeout.ms`, {} s by default", _default_s("request.timeout.ms"))
    yield from given(FINDINGS, "KIP-91's default", "`delivery.timeout.ms`, 120 s by default")
    yield now(FINDINGS, "With its default of {} s that is a limit of {} s", 30, round(30 / 1.5))
    yield from given(
        FINDINGS, "limits of the table below, which the recorded result fills",
        "With a limit of 20 s the follower", "That is why 10 s gains producers no more than 20 s",
        "at a smaller price than 10 s", "keep 30 s, or try 60 s", "Do not set 10 s",
    )  # fmt: skip
    assert _finding("lag-limit").panels.regression == _finding("stuck-read").panels.regression
    yield now(FINDINGS, "simulates {} scenarios", _finding("lag-limit").panels.regression)
    brokers = {6: "six"}[len(_yaml("config/clusters/default.yaml")["brokers"])]
    yield now(FINDINGS, "{} brokers, {} partitions", brokers, _partitions("default"))
    for name in ("lag-limit", "stuck-read"):
        yield now(FINDINGS, "Each scenario lasts {} s", _finding(name).horizon_ms // 1000)
    yield now(
        FINDINGS,
        "The shipped experiments take {} s",
        load_experiment("operators").horizon_ms // 1000,
    )
    yield from given(FINDINGS, "a limit of the table", "a replica that leaves after 60 s")
    yield from given(FINDINGS, "a limit of the table", "**A lag limit of 60 s**")
    yield from dated(
        FINDINGS, "2026-11-25", "benchmarks/results/findings.jsonl, 631401b",
        "2.33 x at 10 s, 1.54 x at 20 s, 0.68 x at 60 s (4000 scenarios, 2026-11-25)",
        "cost producers 1.05 x and commits 1.12 x (4000 scenarios, 2026-11-25)",
    )  # fmt: skip
    yield from dated(
        FINDINGS, "2026-11-24", "benchmarks/results/findings.jsonl, 8bdadb0",
        "4 stuck partitions and 117 neighbours were offline",
    )  # fmt: skip


def _model() -> Iterable[Claim]:
    page = "docs/model.md"
    for one in (page, RULES):
        yield from given(one, "a number of GitHub's", "pull request (#7802)")
    stall, crash = (_faults_of("w3b", kind) for kind in ("read_stall", "crash"))
    yield now(page, "hangs for {} s", stall["duration_ms"] // 1000)
    start, end = stall["start_ms"], stall["start_ms"] + stall["duration_ms"]
    died = crash["start_ms"]
    back = died + crash["restart_after_ms"]
    yield from given(page, "an id of the scenario's brokers", "fail over to 1002")
    yield now(
        page, "hangs from {} s to {} s. The broker dies at {} s and is back at {} s",
        *(at // 1000 for at in (start, end, died, back)),
    )  # fmt: skip
    conformance = CONFORMANCE
    every, sessions = _recordings(), _recorded("sessions.jsonl")
    yield now(conformance, "{} repetitions of {} experiments", len(every), len(_cases()))
    yield now(
        conformance,
        "`sessions.jsonl`, {} repetitions of {} releases",
        len(sessions),
        len({one["release"] for one in sessions}),
    )
    yield now(
        conformance, "from {} s before the fault to {} s after",
        comparison.LEAD_MS // 1000, comparison.TAIL_MS // 1000,
    )  # fmt: skip
    yield now(
        conformance, "within {} ms per ISR change plus {} ms per leader change",
        comparison.ISR_MS_PER_CHANGE, comparison.RETURN_MS,
    )  # fmt: skip
    yield now(
        conformance, "leaders within {} ms per change, and both limits have {} ms more",
        comparison.LEADER_MS_PER_CHANGE, comparison.SLACK_MS,
    )  # fmt: skip
    yield now(conformance, "widened by 1 or {} %", round(100 * comparison.COUNT_WIDENING))
    yield from given(conformance, "the lesser widening, in the same line", "widened by 1 or")
    yield from dated(
        conformance, "2026-11-22", "the notes of the recordings",
        "as ±50 ms, now and then 150",
    )  # fmt: skip
    vectors = (ROOT / "tests/data/oracle/vectors.jsonl").read_text().splitlines()
    yield now(conformance, "{} timelines", len(vectors))
    yield now(conformance, "{} public reports", len([*(ROOT / "tests/cases").glob("*.yaml")]))
    lab = "docs/project/lab.md"
    yield from given(
        lab, "Java's releases, and ids of nodes",
        "Java 17 or 21", "(node 100)", "brokers 1, 2, 3",
    )  # fmt: skip
    yield now(
        lab,
        "at most {} MB of heap",
        inspect.signature(Java.command).parameters["heap_mb"].default,
    )
    yield from dated(lab, "2026-11-22", "tools/lab/record.py", "a busy machine of 2 cores")


def _rules() -> Iterable[Claim]:
    page = RULES
    yield from dated(
        page, "2026-11-22",
        "recordings of 4.3.1, isr_pipeline/conformance/recordings/returns.jsonl",
        "18 to 22.5 s here and 18 to 22 s on 4.3.1", "about 2.1 s after the request (2.5 s seen",
    )  # fmt: skip
    yield from dated(
        page, "2026-11-23", "a night of `proposals` over the shipped panel",
        "`s2-isr-order` 4 % of its commit p99 (7.6 to 7.9 s in the mean)",
        "(produce unavailable 2.49 to 2.53 %)", "(p99 8.4 to 7.8 s)",
    )  # fmt: skip
    yield from given(page, "settings of the example", "a pod back after 2 s")
    yield from given(
        page, "arithmetic: a session, less what has passed since the last heartbeat",
        "With the default of 9 s, one that is back after 3 s waits 6 to 9 s more",
    )  # fmt: skip
    yield from given(page, "Kafka's own number", "a real controller fences them 10 ms apart")
    yield from given(page, "a default", "and 0 is the default")
    yield from given(page, "Kafka's own number", "`fetch.max.wait.ms` (500)")
    yield now(
        page, "the default of {} ms equals `replica.fetch.wait.max.ms`",
        KEYS["follower.fetch.process.time.max.ms"].default,
    )  # fmt: skip
    yield now(page, "whole batches up to {} MiB", template.REQUEST_BYTES_MAX // 2**20)
    yield now(page, "The next records go {} ms later", clients.RETRY_US // 1000)
    yield now(page, "(at most {})", faults.CONNECTIONS_MAX)
    yield now(page, "{} ms later the process ends or the", leader.LOG_DIR_NOTICE_US // 1000)
    yield from given(
        page, "Kafka's own numbers", "the 2 % jitter",
        "`initial.broker.registration.timeout.ms` (60 s)",
        "up to 5 s old", "it counts from 0, as if",
    )  # fmt: skip
    yield now(
        page, "Unfencing takes {} to {} ms",
        controller.UNFENCE_LOW_US // 1000, controller.UNFENCE_HIGH_US // 1000,
    )  # fmt: skip
    yield now(page, "again {} ms after the move", shutdown.FIRST_ASK_US // 1000)
    yield now(
        page, "`flush_ms` ({} s is Linux's", faults.Crash.model_fields["flush_ms"].default / 1000
    )


def _sizes_of_the_model() -> Iterable[Claim]:
    """What there is room for, and what a night keeps."""
    page = RULES
    yield now(page, "Of more than {} those are forgotten", tables.EPOCHS_MAX)
    yield now(
        page, "at most {}, and {} million of all partitions",
        size.LEDGER_MAX, round(size.LEDGERS_MAX / tables.Batch.size / 1e6),
    )  # fmt: skip
    yield now(page, "Each partition has room for {} in any case", encoder.LEDGER_LEAST)
    yield now(page, "`produce_burst` adds up to {} of its partition", encoder.LEDGER_BURST_MAX)
    yield now(
        page, "lists the first {} events; a night keeps the first {} of a pair",
        encoder.EVENTS_LISTED, pairs.EVENTS_PER_PAIR,
    )  # fmt: skip
    yield now(page, "of one pair in {} beside", pairs._SAMPLED_ONE_IN)
    octave = 1 << tables.LATENCY_SUB_BITS
    assert 1 / octave < 0.01
    yield now(page, "of {} buckets an octave (less than 1 % wide)", octave)
    yield from given(page, "1 / 128, compared above", "(less than 1 % wide)")
    yield now(
        page, "{} replicas a partition, {} log dirs a broker, {} entities",
        tables.MAX_RF, size.MAX_LOG_DIRS, (1 << tables.SLOT_BITS) - 1,
    )  # fmt: skip
    yield now(page, "{} GB a worker", size.BYTES_MAX // 10**9)
    yield now(
        page, "{} million events a run and as many again for every {} replicas",
        size.EVENT_BUDGET // 10**6, size.REPLICAS_OF_A_BUDGET,
    )  # fmt: skip
    yield now(page, "with exit status {}", BudgetSpent.exit_status)
    yield now(
        page, "{} for each fetcher thread, {} for each producer's connection",
        1 + tables.REQUESTS_PER_THREAD, 1 + tables.REQUESTS_PER_STREAM,
    )  # fmt: skip
    yield from given(
        page, "what a refusal of too many entities prints", "and 7 others for each broker"
    )
    yield from given(page, "compared in docs/scenario-format.md", "a horizon below 2^43 µs")
    yield from given(page, "a flag of a table", "a row with `failed` = 1")


def _verdicts() -> Iterable[Claim]:
    looks = _looks()
    for page in (VERDICTS, STATISTICS):
        yield now(
            page, "budget of {} the looks see {}, {} and {} scenarios",
            load_experiment("operators").budget.scenarios, *looks,
        )  # fmt: skip
        yield now(page, "in {} other phases", stages.DRAWS)
        yield now(page, "at a one-sided level of {} %. All else", round(100 * ONE_SIDED))
        yield now(
            page, "Each end is one-sided. The upper end is at {} % and decides `ok`.",
            round(100 * ONE_SIDED),
        )  # fmt: skip
        yield now(page, "{} % of the alarms", round(100 * load_settings().confirm_p))
        yield from given(page, "no change", "may have a lower end below 1:")
        yield from given(page, "an example", '"in 17 of 20 phase draws, 0 of 20 before"')
    page = STATISTICS
    yield now(
        page, "the parts are {} %, {} % and {} % of the error",
        *_parts([_spent(seen / looks[-1]) for seen in looks]),
    )  # fmt: skip
    yield from given(page, "the rule's usual name", '(Poisson; at 5 % the "rule of three")')
    yield from given(page, "a formula", "log(1 + x)", "below 2^-k", "ln(1 + (e - 1) t)")
    yield from given(page, "volumes of a journal", "Biometrika 70")
    yield from given(page, "steps of the list", "with steps 3 to 5")
    yield now(page, "It is at 1 in {} where that level is finer", load_settings().flips + 1)
    yield from dated(
        page, "today", "tests/verdicts/test_stages.py tries it so",
        "300 null nights", "alarm at most 3 times",
    )  # fmt: skip
    yield from _levels(page)
    yield from _followed(VERDICTS)
    yield from _causes(VERDICTS)
    yield from _contest(DETECTION)
    yield from _intervals(DETECTION)


def _followed(page: str) -> Iterable[Claim]:
    """The regression that the page follows; tests/test_claims.py compares its table."""
    offline = load_experiment("smoke").profile.strata["offline"]
    assert offline.sample == 0.5
    yield now(
        page, "`offline` has half of the panel and {} % of the population",
        round(100 * offline.share),
    )  # fmt: skip
    yield now(page, "The experiment is `smoke` with {} scenarios.", verdict_example.SIZE)
    yield from given(page, "no change", "on that side of 1")


def _levels(page: str) -> Iterable[Claim]:
    """Error rates, and what follows from them."""
    settings = _yaml("config/verdicts.yaml")
    confirm, found = settings["confirm_p"], settings["false_discovery_rate"]
    yield now(
        page, "{} % of the improvements, {} % for each rise that is ruled out",
        round(100 * found), round(100 * ONE_SIDED),
    )  # fmt: skip
    yield now(page, "hint at a difference (p up to {}) are of too few", LEANS_P)
    first, more = stages.PARTS[1]
    assert (first, more, *stages.PARTS[2]) == (1 / 2, 1 / 4, 1 / 8, 1 / 8)
    yield now(
        page, "Against none before it takes {} of {} for one scenario.",
        _redraws_needed(first * confirm, stages.DRAWS), stages.DRAWS,
    )  # fmt: skip
    yield now(
        page, "Then {} are drawn, of which {} against none are certain", stages.MORE_DRAWS,
        _redraws_needed(more * confirm, stages.MORE_DRAWS),
    )  # fmt: skip


def _causes(page: str) -> Iterable[Claim]:
    """What `blame` tries."""
    assert culprit.HALF == 0.5
    yield from given(
        page, "ends of a scale",
        "0 % is the baseline's outcome, 100 % is tonight's; from 50 % on the trial counts",
    )  # fmt: skip
    yield now(page, "(at most {}) and says", case.SCENARIOS_MAX)
    yield now(page, "those of them that differ are among the {}", case.SCENARIOS_MAX)
    yield now(page, "whose share is below {} % is not all", round(100 * culprit.ENOUGH))
    yield from given(page, "the whole of something", "A share above 100 % means")


def _redraws_needed(p_max: float, draws: int) -> int:
    """In how many phase draws something has to happen to be certain, if it never did before."""
    none = [0, draws]
    return next(
        count
        for count in range(draws + 1)
        if stats.fisher_exact(
            [[count, draws - count], none], alternative="greater"
        ).pvalue < p_max
    )  # fmt: skip


def _contest(page: str) -> Iterable[Claim]:
    """How the contest is made, and what the last one got wrong."""
    yield now(page, "one of {} configurations regressed", nights.CONFIGURATIONS)
    yield now(page, "all {} configurations", len(configurations(load_experiment("operators"))))
    yield now(page, "played once among {} configurations", nights.CONFIGURATIONS_TOGETHER)
    yield now(page, "puts them back: {}, then", draw.REGRESSION)
    yield now(page, "Otava gets {} past nights, each on fresh scenarios", draw.PAST_NIGHTS)
    yield now(page, "its own least magnitude of {} %", _otavas_magnitude())
    yield from dated(
        page, "2026-11-27", "the contest of seed 20261127, one plant's night",
        "one of 127 alarms",
    )  # fmt: skip
    yield from dated(
        page, "2026-11-25", "the contest; on the pool of its tuning seed where it says so",
        "(2026-11-26, 2100 scenarios): seven of its 233 alarms",
        "raise flaps in 22 of that pool's 462 scenarios and lower them in 14. "
        "A night drew 635 to 819 times out of these",
        "28 of 36 nights with a budget of 2000 scenarios. With 4000 it was 88 of 90",
        "800 scenarios of each stratum",
    )  # fmt: skip
    yield from dated(
        page, "2026-11-27", "python -m benchmarks.detection.earns, its table",
        "Made on 2026-11-27 with `--scenarios 500 --configurations 6` (Linux x86_64, 2 cores",
        "24 plants, one night each, 11 of them in one stratum alone, and 200 null nights",
    )  # fmt: skip


def _intervals(page: str) -> Iterable[Claim]:
    """How the check of intervals is made."""
    yield from dated(
        page, "2026-11-23", "benchmarks.coverage, the last line but one",
        "held in 90.6 % and their lower end in 83.1 %",
    )  # fmt: skip


def _otavas_magnitude() -> int:
    """In percent; its driver runs in an environment of its own, and cannot be imported here."""
    driver = (ROOT / "benchmarks" / "detection" / "otava_driver.py").read_text()
    found = re.search(r"^MAGNITUDE = ([0-9.]+)$", driver, re.MULTILINE)
    assert found is not None
    return round(100 * float(found[1]))


def _parts(spent: list[str]) -> list[str]:
    """What each look adds to what was spent before it."""
    ends = [0, *map(int, spent)]
    return [str(end - start) for start, end in itertools.pairwise(ends)]


def _running() -> Iterable[Claim]:
    page = "docs/operations.md"
    yield now(page, "rescheduled every {} s", round(wiring.TURN.total_seconds()))
    yield from given(page, "dates of the example", "the nights 15, 16 and 17")
    yield from dated("SECURITY.md", "today", "isr_pipeline/night/stack.py writes it so", "mode 600")
    deploy = "docs/deploy.md"
    compose = (ROOT / "docker-compose.yaml").read_text()
    assert '"--cores", "2", "--memory", "3g"' in compose
    assert "TASK_SECONDS_MAX:-14400" in compose
    yield from dated(
        deploy, "today", "docker-compose.yaml, compared above",
        "two workers (2 cores, 3 GB each)", "`TASK_SECONDS_MAX` (14400)",
    )  # fmt: skip
    yield now(deploy, "may use {} GB of memory together", _memory_gb())
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "50000" in dockerfile + compose
    yield from dated(deploy, "today", "Dockerfile or docker-compose.yaml", "User 50000")
    yield from dated(
        deploy, "2026-11-24", "docs/deploy.md names the rehearsals",
        "(245 MB, 675 MB unpacked)", "(0.5 MB)",
    )  # fmt: skip
    tried = "docs/project/tried.md"
    yield from dated(
        tried, "2026-11-27", "podman's list of images", "the image (2.4 GB; on that day"
    )
    yield from dated(
        tried, "2026-11-23", "the rehearsal that the page names", "(1.4 GB, most of it Spark)"
    )  # fmt: skip
    yield from dated(
        tried, "2026-11-25", "python -m benchmarks.objects 3",
        "took 1.14 times as long", "in three pairs on 2 cores", "made 909 requests",
    )  # fmt: skip
    yield from given(deploy, "Java's releases", "Java 17 or 21")
    yield now(
        SIZING, "rows leave it in batches of {}, events of {}",
        pairs.ROWS_AT_ONCE, pairs.EVENTS_AT_ONCE,
    )  # fmt: skip
    for text in (
        "100 brokers, 20000 partitions, replication factor 5 and 4 fetchers fit: 184000 entities",
        "measures 30 x 3000 and 100 x 20000 beside the default's 6 x 60",
        "100000 pairs of 10000 partitions",
    ):
        yield from dated(SIZING, "2026-11-24", "benchmarks/speed/scale.py and large.py", text)


def _files() -> Iterable[Claim]:
    yield now(
        "docs/keys.md", "the lag limit is {} s and the session {} s",
        _default_s("replica.lag.time.max.ms"), _default_s("zookeeper.session.timeout.ms"),
    )  # fmt: skip
    page = "docs/cluster-file.md"
    yield now(page, "at most {} MiB and two million keys", cluster_file.BYTES_MAX // 2**20)
    assert cluster_file.NODES_MAX == 2_000_000
    yield from given(page, "no count of an incident is 0", "incidents that is not above 0")
    page = "docs/fault-profile.md"
    stalled = load_experiment("operators").profile.incidents["stalled_reads"].scenarios
    deadly = stalled["offline.stall_then_death"] / sum(stalled.values())
    yield now(page, "`nightly` {} % end with the death of the disk", round(100 * deadly, 1))
    repair = incidents.Incident.model_fields["repair_minutes"].default
    yield now(page, "until a person comes: {} by default", repair)
    yield now("docs/verdicts.md", "within their strata, {} % beyond each end", 100 * ONE_SIDED)
    yield from dated(
        "docs/experiment-file.md", "today", "experiment/file.py: NAME says it in its line",
        "at most 60 of",
    )  # fmt: skip
    page = CLUSTER
    yield from given(page, "how to switch it off", "0 leaves rates out")
    yield from given(page, "a topic without followers", "replication factor 1")
    yield from given(page, "the broker of the example", "Broker 4 had just been killed")
    yield now(
        page, "to answer within {} s, the first within {} s",
        live.ANSWER_S_MAX, live.CONNECT_S_MAX,
    )  # fmt: skip
    yield from dated(page, "today", "isr_pipeline/cli.py: rate_s", "apart (10;")
    yield now(page, "More than {} combinations", combinations.COMBINATIONS_MAX)
    yield now(page, "{} scenarios at most", new_experiment.FULL)
    yield now(page, "What you asked and {} scenarios leave undecided", new_experiment.FULL)
    yield now(page, "until {} scenarios fit", new_experiment.WANTED)
    yield now(page, "It keeps {} partitions at least", new_experiment.LEAST_KEPT)
    yield now(page, "the exit status is then {}.", Refused.exit_status)
    page = "docs/scenario-format.md"
    assert model.HORIZON_LIMIT_US == 2**43
    yield from given(page, "compared above", "times of 2^50 µs and more, horizons of 2^43")
    page = "docs/project/moved.md"
    yield from dated(
        page, "2026-11-26", "python -m benchmarks.moved",
        "60 scenarios with 40 configurations that both have", "781 of 2400 pairs differ",
    )  # fmt: skip
    yield from dated(page, "2026-11-26", "the answers that are kept", "200 scenarios, weighted")
    yield from given(page, "a setting of the configurations", "which acts below min ISR 2")
    page = "docs/own-proposal.md"
    yield from dated(
        page, "2026-11-27", "what the command printed", "2000 scenarios of the cluster",
        "one-sided at 5 % (2026-11-27, 2 cores", "158 s of processor time",
    )  # fmt: skip
    yield from given(page, "a pull request and its month", "apache/kafka#23024 proposes that since")
    yield from given(
        page, "settings of the scenario", "lag limit 4 s, `min.insync.replicas=2`, 45 s of slowness"
    )
    yield from dated(
        "docs/project/adding.md",
        "today",
        "tests/test_adding.py runs the recipe",
        "(1309 with `3.7+`)",
    )
