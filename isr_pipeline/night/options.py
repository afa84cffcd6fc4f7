"""Options and arguments that several commands of the command line share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from isr_pipeline.night import completing


def nights(context: typer.Context) -> list[str]:
    """Nights of the experiment that is named."""
    return completing.nights(context.params.get("experiment"))


def key_and_value() -> list[str]:
    """``KEY=`` of every key."""
    return completing.keys("=")


def configurations(context: typer.Context) -> list[str]:
    """Configurations of the night that is named."""
    given = context.params
    return completing.configurations(str(given.get("night") or "*"), given.get("experiment"))


def of_experiment(default: str) -> Any:
    """Make the option that names an experiment, with what it is where nobody names one."""
    return typer.Option(
        "--experiment",
        metavar="NAME",
        help=f"Default: {default}.",
        autocompletion=completing.experiments,
    )


OneExperiment = Annotated[str | None, of_experiment("the only one that has nights, or operators")]
ExperimentOfNight = Annotated[str | None, of_experiment("the only one that has this night")]
EveryExperiment = Annotated[str | None, of_experiment("all of them")]
NightArgument = Annotated[
    str, typer.Argument(metavar="NIGHT", help="YYYY-MM-DD.", autocompletion=nights)
]
ConfigArgument = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG", help="Name of a configuration.", autocompletion=configurations
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help="Default: the one that the night's page leads with.",
        autocompletion=completing.metrics,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]
Faults = Annotated[
    str,
    typer.Option("--faults", help="A file of config/faults.", autocompletion=completing.faults),
]
Incidents = Annotated[
    list[str] | None,
    typer.Option(
        "--incidents",
        metavar="KIND=N[:LENGTHS],...",
        help="How many a year you counted, and how long: crash=4,pause=365:5s-15s.",
    ),
]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topics", metavar="PATTERN", help="Only topics of this name, such as orders-*; repeat it."
    ),
]
HardwareOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hardware",
        metavar="NAME=VALUE,...",
        help="How fast each broker's machine is, such as disk-write=125MB,cache=24GB.",
    ),
]
Exact = Annotated[
    bool,
    typer.Option("--exact", help="Without jumps and shared runs: the same result, and slow."),
]
