"""The command line, ``isr-pipeline``: thin; every command calls a function of a room.

Heavy imports are inside the commands, so that ``--help`` and a refused argument answer at once.
A mistake of the user is one line on standard error: exit status 2 for what was written wrongly, 1
for what is refused or did not succeed, 3 for a spent event budget.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from isr_pipeline.base import refusals
from isr_pipeline.base.compiling import slow_ways
from isr_pipeline.base.errors import BudgetSpent, InputError, Refused
from isr_pipeline.base.home import DEFAULT_EXPERIMENT
from isr_pipeline.night import completing
from isr_pipeline.night.history_command import cluster_history
from isr_pipeline.night.options import (
    AsJson,
    ConfigArgument,
    EveryExperiment,
    Exact,
    ExperimentOfNight,
    Faults,
    HardwareOption,
    Incidents,
    MetricOption,
    NightArgument,
    OneExperiment,
    Topics,
    configurations,
    key_and_value,
    nights,
)
from isr_pipeline.night.step_commands import night_step, night_task
from isr_pipeline.night.surroundings import enter
from isr_pipeline.night.validate_command import night_validate

COMPLETING = "_ISR_PIPELINE_COMPLETE"
"""Variable that a shell sets when it asks for what may come next."""

RUN, ASK, TRY, KAFKA, HERE = (
    "Run nights and read them",
    "Ask about your cluster",
    "Look at one scenario",
    "Hold the simulator against Kafka",
    "This installation",
)
"""Headings of ``--help``: what a person wants."""


DEFAULT_FAULTS = "nightly"
"""Of a question that names none."""

COMMANDS = (
    *("night", "why", "blame", "baseline", "cluster", "experiment", "compare", "keys"),
    *("simulate", "conform", "sources", "doctor", "ui", "airflow"),
)
"""First words of the command line, most wanted first."""


class _InOrder(TyperGroup):
    """Commands in the order of `COMMANDS`, which that of the headings follows."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, most wanted first."""
        return sorted(super().list_commands(ctx), key=lambda name: [*COMMANDS, name].index(name))


app = typer.Typer(
    cls=_InOrder,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
night_app = typer.Typer(no_args_is_help=True, help="Run, list, show, validate and prune nights.")
baseline_app = typer.Typer(no_args_is_help=True, help="What nights are compared with.")
experiment_app = typer.Typer(
    no_args_is_help=True, help="Experiment files: listed, checked, written."
)
cluster_app = typer.Typer(no_args_is_help=True, help="Clusters: listed, imported, shown.")
app.add_typer(night_app, name="night", rich_help_panel=RUN)
app.add_typer(baseline_app, name="baseline", rich_help_panel=RUN)
app.add_typer(cluster_app, name="cluster", rich_help_panel=ASK)
app.add_typer(experiment_app, name="experiment", rich_help_panel=ASK)


def _print_version(wanted: bool) -> None:
    if wanted:
        from isr_pipeline.base.version import version_line  # noqa: PLC0415

        typer.echo(version_line())
        raise typer.Exit


@app.callback(no_args_is_help=True)
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Nightly experiments and regression verdicts for Kafka's in-sync replicas."""


def main() -> None:
    """Run a command, in an environment of our own."""
    if COMPLETING not in os.environ:  # a shell that asks for names wants nothing else said
        enter("isr_pipeline.cli", sys.argv[1:])
    run()


def run() -> None:
    """Run the command in ``sys.argv``."""
    refusals.run(app)


def _say(text: str) -> None:
    """Print a line."""
    typer.echo(text)


def _note(text: str) -> None:
    """Say how far a command is, on standard error."""
    typer.echo(text, err=True)


def _check_home() -> None:
    """Refuse a home that cannot hold compiled kernels, before any is compiled elsewhere."""
    from isr_pipeline.base.home import Home  # noqa: PLC0415
    from isr_pipeline.night.preconditions import check_home  # noqa: PLC0415

    check_home(Home.from_environment())


# -- nights -----------------------------------------------------------------------------------


@night_app.command("run")
def night_run(
    *,
    night: Annotated[
        str | None, typer.Option("--night", metavar="YYYY-MM-DD", help="Default: today, UTC.")
    ] = None,
    experiment: Annotated[
        str,
        typer.Option(
            "--experiment",
            metavar="NAME",
            help="A file of config/experiments.",
            autocompletion=completing.experiments,
        ),
    ] = DEFAULT_EXPERIMENT,
    scenarios: Annotated[
        int | None, typer.Option("--scenarios", help="Budget to decide what is undecided.")
    ] = None,
    panel_size: Annotated[
        int | None, typer.Option("--panel-size", help="Another panel: not comparable.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also a night of that date on another panel.")
    ] = False,
    spark_master: Annotated[
        str | None, typer.Option("--spark-master", metavar="URL", help="Default: local[*].")
    ] = None,
    fail_on_regression: Annotated[
        bool, typer.Option(help="Whether a confirmed regression is a failure.")
    ] = True,
    wait: Annotated[bool, typer.Option(help="Wait for another night that is running.")] = True,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="In this program, without Airflow.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the experiment's DAG once in Airflow, and show the night."""
    _check_home()
    from isr_pipeline.experiment.file import load_experiment  # noqa: PLC0415
    from isr_pipeline.night.question import Question  # noqa: PLC0415
    from isr_pipeline.night.show import show  # noqa: PLC0415
    from isr_pipeline.night.status import check_has_come  # noqa: PLC0415
    from isr_pipeline.report.terminal import print_night  # noqa: PLC0415
    from isr_pipeline.verdicts.quantities import load_settings  # noqa: PLC0415

    date = check_has_come(night) if night else datetime.now(UTC).date().isoformat()
    question = Question(panel_size, scenarios, replace).check()
    load_experiment(experiment)
    load_settings()
    if in_process:
        from isr_pipeline.night.in_process import run_in_process as start  # noqa: PLC0415
    else:
        from isr_pipeline.night.runner import run_night as start  # noqa: PLC0415
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        succeeded = start(
            experiment,
            date,
            question,
            fail_on_regression=fail_on_regression,
            spark_master=spark_master,
            wait=wait,
        )
    if as_json:
        _print_json(show(experiment, date))
    else:
        print_night(show(experiment, date))
    if not succeeded:
        raise typer.Exit(1)


@night_app.command("list")
def night_list(experiment: EveryExperiment = None, *, as_json: AsJson = False) -> None:
    """List all nights with their status."""
    from isr_pipeline.base.home import Home  # noqa: PLC0415
    from isr_pipeline.night.show import listed  # noqa: PLC0415

    _refuse_unknown(experiment)
    rows = listed(experiment)
    if as_json:
        _print_json(rows)
        return
    if not rows:
        _say(f"no nights in {Home.from_environment().made}; run one: isr-pipeline night run")
    for row in rows:
        line = f"{row['night']}  {row['experiment']:<16} {row['status']:<12} {row['reason']}"
        _say(line.rstrip())


@night_app.command("show")
def night_show(
    night: NightArgument, experiment: ExperimentOfNight = None, *, as_json: AsJson = False
) -> None:
    """Show a night: per configuration rates, latency and verdict; then where the rest is."""
    from isr_pipeline.night.publication import find_night  # noqa: PLC0415
    from isr_pipeline.night.show import show  # noqa: PLC0415

    shown = show(*find_night(night, experiment))
    if as_json:
        _print_json(shown)
        return
    from isr_pipeline.report.terminal import print_night  # noqa: PLC0415

    print_night(shown)


night_app.command("validate")(night_validate)


@night_app.command("prune")
def night_prune(
    keep: Annotated[int, typer.Option("--keep", help="How many nights with a verdict stay.")],
    experiment: EveryExperiment = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old nights: tables, MLflow runs, Data Docs and reports. Baselines stay."""
    from isr_pipeline.night.keep import prune  # noqa: PLC0415

    _check_home()
    _refuse_unknown(experiment)
    removed = []
    for name, night in prune(keep, experiment, dry_run=dry_run):
        removed.append({"experiment": name, "night": night})
        if not as_json:
            _say(f"{'would remove' if dry_run else 'removed'} {night} of {name}")
    if as_json:
        _print_json(removed)
    else:
        _say(f"{len(removed)} nights {'would be removed' if dry_run else 'removed'}")


night_app.command("step")(night_step)
night_app.command("task")(night_task)


# -- baselines --------------------------------------------------------------------------------


@baseline_app.command("show")
def baseline_show(experiment: OneExperiment = None, *, as_json: AsJson = False) -> None:
    """Say which night is the baseline, and who accepted it, when and why."""
    from isr_pipeline.report.terminal import baseline_lines  # noqa: PLC0415
    from isr_pipeline.verdicts.baseline import show  # noqa: PLC0415

    name = _known(experiment)
    record = show(name)
    if as_json:
        _print_json(record.model_dump(mode="json") if record else None)
        return
    for line in baseline_lines(name, record):
        _say(line)


@baseline_app.command("accept")
def baseline_accept(
    night: NightArgument,
    experiment: ExperimentOfNight = None,
    *,
    why: Annotated[str, typer.Option("--why", help="The reason: one line for the next reader.")],
    who: Annotated[str | None, typer.Option("--who", help="Default: the login name.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            help="Accept this configuration alone; may be given again.",
            autocompletion=configurations,
        ),
    ] = None,
    absorb_unseen: Annotated[
        bool, typer.Option("--absorb-unseen", help="Also what could not be compared.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a finished night the one that others are compared with; says what that absorbs."""
    _check_home()
    from isr_pipeline.night.keep import accept_baseline  # noqa: PLC0415
    from isr_pipeline.night.publication import find_night  # noqa: PLC0415

    name, date = find_night(night, experiment)
    said = accept_baseline(
        name, date, who=who, why=why, only=only or (), absorb_unseen=absorb_unseen
    )
    if as_json:
        from isr_pipeline.verdicts import ledger  # noqa: PLC0415

        _print_json({**ledger.read(name)[-1].model_dump(mode="json"), "said": said})
        return
    for line in said:
        _say(line)


@baseline_app.command("ledger")
def baseline_ledger(experiment: OneExperiment = None, *, as_json: AsJson = False) -> None:
    """List every acceptance, what each absorbed, and what they add up to."""
    from isr_pipeline.report.terminal import ledger_lines  # noqa: PLC0415
    from isr_pipeline.verdicts import ledger  # noqa: PLC0415

    name = _known(experiment)
    if as_json:
        _print_json(ledger.as_json(name))
        return
    for line in ledger_lines(name, ledger.read(name)):
        _say(line)


# -- experiments and scenarios ----------------------------------------------------------------


@experiment_app.command("list")
def experiment_list(*, as_json: AsJson = False) -> None:
    """List the experiments, and what each asks."""
    _list_files("experiments", as_json=as_json)


def _list_files(kind: str, *, as_json: bool) -> None:
    """List the files of one folder of the configuration."""
    from dataclasses import asdict  # noqa: PLC0415

    from isr_pipeline.base.files.reading import listed  # noqa: PLC0415
    from isr_pipeline.base.home import config_dir  # noqa: PLC0415

    folder = config_dir() / kind
    found = listed(folder)
    if as_json:
        _print_json([asdict(one) for one in found])
        return
    if not found:
        _say(f"no files in {folder}")
    for one in found:
        _say(f"{one.name:<16} {one.line}".rstrip())


@experiment_app.command("check")
def experiment_check(
    name: Annotated[
        str,
        typer.Argument(
            help="Name or file of an experiment.", autocompletion=completing.experiments
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Read an experiment file strictly: what it would run and cost, when there can be an alarm."""
    _check_home()
    from isr_pipeline.experiment.configurations import configurations  # noqa: PLC0415
    from isr_pipeline.experiment.cost import cost_lines  # noqa: PLC0415
    from isr_pipeline.experiment.file import healthy_scenario, load_experiment  # noqa: PLC0415
    from isr_pipeline.experiment.keys import unread_overrides  # noqa: PLC0415
    from isr_pipeline.scenarios.machine_load import disks_asked  # noqa: PLC0415
    from isr_pipeline.verdicts.looks import reach_of  # noqa: PLC0415
    from isr_pipeline.verdicts.quantities import load_settings  # noqa: PLC0415

    experiment = load_experiment(name)
    listed = list(configurations(experiment))
    set_by = {one.name: one.overrides for one in listed}
    healthy = healthy_scenario(experiment)
    load = disks_asked(healthy, experiment.cluster.hourly_load)
    notes = [*unread_overrides(healthy, set_by), *load]
    cost = cost_lines(experiment, len(listed))
    reach = reach_of(experiment.panels.model_dump(), experiment.budget, load_settings())
    if as_json:
        shown = {"config_id", "name", "group", "overrides", "why"}
        _print_json(
            {
                "experiment": experiment.name,
                "file": experiment.where,
                "panels": experiment.panels.model_dump(),
                "configurations": [one.model_dump(mode="json", include=shown) for one in listed],
                "notes": notes,
                "cost": cost,
                "alarm": reach.line,
            }
        )
        return
    for configuration in listed:
        _say(f"{configuration.config_id}  {configuration.name}")
    for line in (*notes, *cost, reach.line):
        _say(line)


@experiment_app.command("new")
def experiment_new(
    cluster: Annotated[
        str,
        typer.Argument(help="A file of config/clusters.", autocompletion=completing.clusters),
    ],
    name: Annotated[
        str | None, typer.Option("--name", help="Of the experiment; else the cluster's.")
    ] = None,
    asks: Annotated[
        list[str] | None,
        typer.Option(
            "--ask",
            metavar="KEY=V1,V2",
            help="Values to compare with today's (several: all combinations); advice: rivals, too.",
            autocompletion=key_and_value,
        ),
    ] = None,
    faults: Faults = DEFAULT_FAULTS,
    incidents: Incidents = None,
    topics: Topics = None,
    *,
    override_topics: Annotated[
        bool, typer.Option("--override-topics", help="Also of topics that set the key themselves.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write an experiment that asks for settings of a cluster; without --ask, propose some."""
    if not asks:
        with_ask = {"--name": name, "--topics": topics, "--override-topics": override_topics}
        for option, given in with_ask.items():
            if given:
                raise InputError("experiment new", option, given, "only together with --ask")
        from isr_pipeline.experiment.questions import proposed  # noqa: PLC0415

        _print_commands(proposed(cluster, faults, DEFAULT_FAULTS), as_json=as_json)
        return
    _check_home()
    from isr_pipeline.base.progress import stages  # noqa: PLC0415
    from isr_pipeline.experiment.new_experiment import new_experiment  # noqa: PLC0415

    name = cluster if name is None else name
    with stages(f"experiment {name}") as say:
        answer = new_experiment(
            cluster,
            name,
            faults,
            asks,
            incidents=incidents or (),
            topics=topics or (),
            override_topics=override_topics,
            say=say,
        )
    if as_json:
        _print_json(answer.as_json())
        return
    for line in answer.lines:
        _say(line)
    _say(f"written to {answer.file}")


def _print_commands(commands: list[tuple[str, str]], *, as_json: bool) -> None:
    """Print commands, each with its reason."""
    if as_json:
        _print_json([{"why": why, "command": command} for why, command in commands])
        return
    for why, command in commands:
        _say(f"# {why}")
        _say(command)


# -- clusters ---------------------------------------------------------------------------------


@cluster_app.command("list")
def cluster_list(*, as_json: AsJson = False) -> None:
    """List the clusters that experiments can name."""
    _list_files("clusters", as_json=as_json)


@cluster_app.command("import")
def cluster_import(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Files or folders, told by content; or kafka://HOST:PORT."
        ),
    ],
    name: Annotated[str, typer.Option("--name", help="Of the file in config/clusters.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write there instead.")
    ] = None,
    release: Annotated[
        str | None, typer.Option("--release", metavar="3.9.1", help="Kafka's, if you know it.")
    ] = None,
    features: Annotated[
        list[str] | None, typer.Option("--feature", metavar="NAME=LEVEL", help="If you know it.")
    ] = None,
    command_config: Annotated[
        Path | None,
        typer.Option("--command-config", metavar="FILE", help="Client properties of Kafka's."),
    ] = None,
    rate_s: Annotated[
        float,
        typer.Option(
            "--rate-seconds", metavar="S", help="Between two readings of offsets; 0: no rates."
        ),
    ] = 10.0,
    anonymous: Annotated[
        bool, typer.Option("--anonymise", help="Replace the names of topics, racks and log dirs.")
    ] = False,
    topics: Topics = None,
    hardware: HardwareOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a cluster file from what an operator has: listings, logs, configuration files."""
    from isr_pipeline.clusters.importing import import_cluster  # noqa: PLC0415
    from isr_pipeline.clusters.show import lines  # noqa: PLC0415

    seen = import_cluster(
        sources,
        name,
        out=out,
        release=release,
        features=features or (),
        anonymous=anonymous,
        command_config=command_config,
        rate_s=rate_s,
        topics=topics or (),
        hardware=hardware or (),
    )
    if as_json:
        _print_json(seen)
        return
    for line in lines(seen, name):
        _say(line)
    _say(f"written to {seen['file']}")


cluster_app.command("history")(cluster_history)


@cluster_app.command("show")
def cluster_show(
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="Name or file of a cluster.",
            autocompletion=completing.clusters,
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Show a cluster: what was assumed, left out and found, broker by broker."""
    from isr_pipeline.clusters.show import show, told  # noqa: PLC0415

    if as_json:
        _print_json(show(cluster))
        return
    for line in told(cluster):
        _say(line)


@cluster_app.command("scenarios")
def cluster_scenarios(
    cluster: Annotated[str, typer.Argument(metavar="NAME", autocompletion=completing.clusters)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to.")] = Path(),
    *,
    as_json: AsJson = False,
) -> None:
    """Write four situations for a cluster: a pause, a rolling restart, a death, a zone cut off."""
    from isr_pipeline.experiment.questions import scenarios  # noqa: PLC0415

    _print_commands(scenarios(cluster, out), as_json=as_json)


@app.command(rich_help_panel=ASK)
def compare(
    a: Annotated[
        str, typer.Argument(help="The reference: KEY=VALUE,…, release=3.9, rules=NAME, or today.")
    ],
    b: Annotated[str, typer.Argument(help="What is compared with it, likewise.")],
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster", help="A file of config/clusters.", autocompletion=completing.clusters
        ),
    ] = "default",
    faults: Faults = DEFAULT_FAULTS,
    incidents: Incidents = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="SCENARIOS", help="How many to simulate.")
    ] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write table.md and compare.json.")
    ] = None,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Compare two configurations over the same faults: an answer, and a table to paste."""
    _check_home()
    slow_ways(exact=exact)
    from isr_pipeline.report import compare as comparing  # noqa: PLC0415

    scenarios = (comparing.EXACTLY if exact else comparing.SCENARIOS) if budget is None else budget
    begun = time.monotonic()
    found = comparing.compare(
        a, b, cluster=cluster, faults=faults, incidents=incidents or (), scenarios=scenarios
    )
    if exact:
        _note(f"{scenarios} scenarios, every event of them: {time.monotonic() - begun:.0f} s")
    if out is not None:
        comparing.write(found, out)
    if as_json:
        _print_json(found.as_json())
        return
    for line in comparing.lines(found):
        is_mark = line == found.mark
        typer.secho(line, fg="red" if is_mark else None, bold=is_mark)
    _say("\n".join(["", *comparing.table(found)]))


@app.command(rich_help_panel=ASK)
def keys(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="WORD",
            help="Only what has it: a key, lag, timeout, KIP-501.",
            autocompletion=completing.keys,
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List what can be set: Kafka's keys, switches, service times; unit, range, defaults."""
    from isr_pipeline.experiment.keys import entries, found, lines  # noqa: PLC0415

    chosen = entries() if word is None else found(word)
    if as_json:
        _print_json([one.as_json() for one in chosen])
        return
    _say("\n".join(lines(chosen)))


@app.command(rich_help_panel=TRY)
def simulate(
    *,
    scenario: Annotated[Path | None, typer.Argument(help="Scenario file (YAML).")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a setting.",
            autocompletion=key_and_value,
        ),
    ] = None,
    json_out: Annotated[
        str | None, typer.Option("--json", metavar="OUT|-", help="Outcome and events as JSON.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="OUT.html", help="Draw a timeline.")
    ] = None,
    night: Annotated[
        str | None,
        typer.Option("--night", help="A night's scenario instead.", autocompletion=nights),
    ] = None,
    experiment: ExperimentOfNight = None,
    scenario_id: Annotated[str | None, typer.Option("--scenario", metavar="ID")] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="NAME", autocompletion=configurations),
    ] = None,
    event_budget: Annotated[
        int | None, typer.Option("--event-budget", min=1, help="Events after which to give up.")
    ] = None,
    exact: Exact = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Without the compiler: the same result, very slow.")
    ] = False,
) -> None:
    """Run one scenario through the kernel: a file, or a pair of a night."""
    _check_home()
    slow_ways(exact=exact, plain=plain)
    from isr_pipeline.report.trace import simulated, write_trace  # noqa: PLC0415
    from isr_pipeline.scenarios.loading import load_scenario  # noqa: PLC0415

    given, drawn = settings or [], trace is not None

    def read(given: list[str]) -> Any:
        if night is not None:
            return _night_pair(night, experiment, scenario_id, config, given)
        if scenario is None:
            raise InputError("simulate", "SCENARIO", "nothing", "a scenario file, or --night")
        return load_scenario(scenario, given)

    def read_before() -> Any:
        if json_out is not None and trace is None:
            return None
        return read([]) if given else _baseline_pair(night, experiment, scenario_id, config)

    apart = ("without --set", f"with {', '.join(given)}") if given else ("baseline", "tonight")
    _note_settings(chosen := read(given), given)
    try:
        story, results = simulated(chosen, read_before, apart, sampled=drawn, budget=event_budget)
    except BudgetSpent as spent:
        raise BudgetSpent(spent.scenario_id, spent.budget, str(scenario or "")) from None
    _write_run(results[-1], json_out)
    if trace is not None:
        write_trace(story, results, trace)
        _note(f"drawn: {trace}")
    if json_out is None:
        from isr_pipeline.report.terminal import print_run  # noqa: PLC0415

        print_run(story, [one.outcome for one in results])


def _night_pair(
    night: str,
    experiment: str | None,
    scenario_id: str | None,
    config: str | None,
    settings: list[str],
) -> Any:
    """Return the scenario of a (scenario_id, configuration) of a night."""
    from isr_pipeline.night.pair import scenario_of_night  # noqa: PLC0415
    from isr_pipeline.night.publication import find_night  # noqa: PLC0415

    if not scenario_id or not config:
        missing = "--scenario" if not scenario_id else "--config"
        raise InputError("simulate --night", missing, "nothing", "both --scenario and --config")
    name, date = find_night(night, experiment, "--night")
    return scenario_of_night(name, date, scenario_id, config, settings)


def _baseline_pair(
    night: str | None, experiment: str | None, scenario_id: str | None, config: str | None
) -> Any:
    """Return a night's scenario under the baseline's configuration; None if there is nothing."""
    from isr_pipeline.night.pair import baseline_of_night  # noqa: PLC0415
    from isr_pipeline.night.publication import find_night  # noqa: PLC0415

    if night is None or scenario_id is None or config is None:
        return None
    return baseline_of_night(*find_night(night, experiment, "--night"), scenario_id, config)


@app.command(rich_help_panel=RUN)
def why(
    night: NightArgument,
    config: ConfigArgument,
    experiment: ExperimentOfNight = None,
    *,
    metric: MetricOption = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="OUT.html", help="Draw the runs before and after."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say where a configuration first does something else than in the baseline, and why."""
    from isr_pipeline.report.story import story_of  # noqa: PLC0415
    from isr_pipeline.verdicts.blame.why import explain  # noqa: PLC0415

    found = explain(_case(night, config, experiment, metric))
    story = story_of(found)
    if trace is not None:
        from isr_pipeline.report.trace import write_page  # noqa: PLC0415

        write_page(story, trace)
        _note(f"drawn: {trace}")
    if as_json:
        _print_json({**found.as_json(), "story": story.lines()})
        return
    _say("\n".join(found.lines(story.lines())))


@app.command(rich_help_panel=RUN)
def blame(
    night: NightArgument,
    config: ConfigArgument,
    experiment: ExperimentOfNight = None,
    *,
    metric: MetricOption = None,
    as_json: AsJson = False,
) -> None:
    """Find the key or commit that makes a configuration differ from the baseline."""
    from isr_pipeline.base.progress import Progress  # noqa: PLC0415
    from isr_pipeline.verdicts.blame.culprit import Search  # noqa: PLC0415
    from isr_pipeline.verdicts.blame.lines import of_causes  # noqa: PLC0415

    case = _case(night, config, experiment, metric)
    with Progress(f"trials of {case.config}") as progress:
        search = Search(case, say=progress.step, expect=progress.expect)
        found = search.blame()
    if as_json:
        _print_json(found)
        return
    _say("\n".join([case.runs, *of_causes(found, case.status, case.change)]))


def _case(night: str, config: str, experiment: str | None, metric: str | None) -> Any:
    """Return what is asked about."""
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415
    from isr_pipeline.night.publication import find_night  # noqa: PLC0415
    from isr_pipeline.verdicts.blame.case import read_case  # noqa: PLC0415

    return read_case(Plan.of_night(*find_night(night, experiment)), config, metric)


@app.command(rich_help_panel=KAFKA)
def conform(
    file: Annotated[Path | None, typer.Argument(help="Observations of real brokers.")] = None,
    json_out: Annotated[str | None, typer.Option("--json", metavar="OUT|-")] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="ID", help="Draw one repetition.")
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Keep the agreement per rule set for the reports.")
    ] = False,
) -> None:
    """Compare the simulator with what real brokers were seen to do."""
    _check_home()
    from isr_pipeline.conformance.conform import conform as run_conform  # noqa: PLC0415
    from isr_pipeline.report.trace import write_runs  # noqa: PLC0415

    raise typer.Exit(run_conform(file, json_out, trace, draw=write_runs, record=record))


@app.command(rich_help_panel=KAFKA)
def sources(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Only what contains it: KIP-497, Partition, 3.7")
    ] = "",
    *,
    by_source: Annotated[
        bool, typer.Option("--by-source", help="Each source with the rules that cite it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the sources that each rule cites: proposals, issues, files of Kafka."""
    from isr_pipeline.conformance.sources import matching, report  # noqa: PLC0415

    cited = matching(text)
    if not cited:
        raise InputError("sources", "TEXT", text, "part of a source's or a rule's name")
    if as_json:
        _print_json([asdict(one) for one in cited])
        return
    _say("\n".join(report(text, by_source=by_source)))


@app.command(rich_help_panel=HERE)
def ui() -> None:
    """Show Airflow and MLflow in the browser until Ctrl-C."""
    from isr_pipeline.night.ui import serve  # noqa: PLC0415

    raise typer.Exit(serve())


@app.command(rich_help_panel=HERE)
def doctor(*, as_json: AsJson = False) -> None:
    """Say what is wrong with this installation: Java, Spark, Airflow, home, MLflow, baselines."""
    from isr_pipeline.night.doctor import examine  # noqa: PLC0415
    from isr_pipeline.verdicts import baseline  # noqa: PLC0415
    from isr_pipeline.verdicts.quantities import load_settings  # noqa: PLC0415

    findings = examine(load_settings, baseline.examined)
    if as_json:
        _print_json([{"part": one.part, "good": one.good, "text": one.text} for one in findings])
    else:
        for one in findings:
            _say(str(one))
    if not all(one.good for one in findings):
        raise typer.Exit(1)


@app.command(
    rich_help_panel=HERE,
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def airflow(
    arguments: Annotated[list[str] | None, typer.Argument(help="Airflow's arguments.")] = None,
) -> None:
    """Run Airflow's own command line on this home."""
    from isr_pipeline.base.home import Home  # noqa: PLC0415
    from isr_pipeline.night.stack import environment  # noqa: PLC0415

    _check_home()
    variables = environment(Home.from_environment())
    os.execvpe("airflow", ["airflow", *(arguments or [])], variables)  # noqa: S606 - takes over


def _known(experiment: str | None) -> str:
    """Return the experiment named, else the only one that has nights, else the default one."""
    from isr_pipeline.experiment.file import load_experiment  # noqa: PLC0415
    from isr_pipeline.night.status import nights  # noqa: PLC0415

    if experiment is None:
        having = sorted({name for name, _ in nights()})
        if len(having) > 1 and DEFAULT_EXPERIMENT not in having:
            raise Refused(f"there are nights of {', '.join(having)}: name one with --experiment")
        experiment = having[0] if len(having) == 1 else DEFAULT_EXPERIMENT
        typer.echo(f"{experiment}, as no --experiment is named", err=True)
    load_experiment(experiment)
    return experiment


def _refuse_unknown(experiment: str | None) -> None:
    """Refuse the name of an experiment that has neither a file nor a night."""
    from isr_pipeline.experiment.file import load_experiment  # noqa: PLC0415
    from isr_pipeline.night.status import nights  # noqa: PLC0415

    if experiment is not None and not nights(experiment):
        load_experiment(experiment)


def _note_settings(scenario: Any, given: list[str]) -> None:
    """Say what of a scenario decides nothing, and which disks it asks for more than they write."""
    from isr_pipeline.experiment.keys import unread_settings  # noqa: PLC0415
    from isr_pipeline.scenarios.machine_load import disks_asked  # noqa: PLC0415

    asked = [one.partition("=")[0].strip() for one in given]
    for line in (*unread_settings(scenario, asked), *disks_asked(scenario)):
        _note(f"scenario {scenario.scenario_id}: {line}")


def _write_run(result: Any, out: str | None) -> None:
    """Write a run as JSON if asked; say what is not listed."""
    from isr_pipeline.base.files.whole import write_json  # noqa: PLC0415

    if result.unlisted:
        _note(f"{len(result.events)} events are listed; {result.unlisted} later ones are not")
    if out is not None:
        write_json({"outcome": result.outcome, "events": result.events}, out, "--json")


def _print_json(value: object) -> None:
    from isr_pipeline.base.files.whole import write_json  # noqa: PLC0415

    write_json(value, "-", "--json")


if __name__ == "__main__":
    main()
