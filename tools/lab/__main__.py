"""Real brokers on this machine, to compare with: ``python -m tools.lab fetch|up|down|list``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from isr_pipeline.base import refusals
from isr_pipeline.base.home import Home
from isr_pipeline.night.preconditions import check_home
from isr_pipeline.night.stack import stop_on_signals
from isr_pipeline.night.surroundings import enter
from tools.lab import brokers, jars
from tools.lab.disk import OPTION, read_disk
from tools.lab.listing import listing
from tools.lab.release import Release
from tools.lab.settings import Plan, read_settings

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)

ReleaseArgument = Annotated[str, typer.Argument(metavar="RELEASE", help="Of Kafka, as 3.9.2.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]


@app.callback()
def _help() -> None:
    """Real brokers on this machine, to compare with."""


def _home() -> Home:
    home = Home.from_environment()
    check_home(home)
    return home


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=1))


def _note(text: str) -> None:
    """Say how far a command is, on standard error."""
    typer.echo(text, err=True)


@app.command()
def fetch(release: ReleaseArgument, *, as_json: AsJson = False) -> None:
    """Fetch the jars of a release by Maven, check them and keep them."""
    found = jars.fetch(_home(), Release.parse(release))
    size_mb = sum(jar.size_bytes for jar in found) / 1e6
    tools = any(jar.coordinate.startswith(f"{jars.TOOLS}:") for jar in found)
    if as_json:
        _print_json({"release": release, "tools": tools, "jars": [asdict(jar) for jar in found]})
        return
    typer.echo(f"Kafka {release}: {len(found)} jars, {size_mb:.0f} MB, checksums as published")
    if not tools:
        typer.echo("this release was published without Kafka's command-line tools")


@app.command()
def up(
    release: ReleaseArgument,
    *,
    count: Annotated[int, typer.Option("--brokers", metavar="N", help="How many.")] = 3,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of every node."),
    ] = None,
    disk: Annotated[
        list[str] | None,
        typer.Option(
            OPTION,
            metavar="NAME=VALUE,…",
            help="Speed of every broker's disk, as write=2MB,read=20MB; needs a C compiler.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", help="Of the first broker; the next ones follow. 0: any.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Start a cluster of real brokers on the loopback; wait until every one answers."""
    home = _home()
    plan = Plan(
        ({},) * max(count, 0),
        read_settings(settings or []),
        port=port,
        disk=read_disk(disk) if disk else None,
    )
    stop_on_signals()
    cluster = brokers.up(home, Release.parse(release), plan, say=_note)
    if as_json:
        _print_json(
            {
                "release": cluster.release,
                "metadata": cluster.metadata,
                "bootstrap": cluster.bootstrap,
                "folder": str(cluster.folder),
                "nodes": [{"name": node.name, "port": node.port} for node in cluster.nodes],
            }
        )
        return
    typer.echo(f"Kafka {release} ({cluster.metadata}) is up: {cluster.bootstrap}")


@app.command()
def down(
    release: Annotated[
        str | None, typer.Argument(metavar="RELEASE", help="Default: every cluster.")
    ] = None,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave its settings, data and output on the disk.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """End a cluster, or every one, and remove its data."""
    chosen = Release.parse(release) if release else None
    ended = brokers.down(_home(), chosen, keep=keep, say=_note)
    if as_json:
        _print_json(ended)
        return
    for one in ended:
        typer.echo(f"Kafka {one} is down")
    if not ended:
        typer.echo("no cluster was up")


@app.command("list")
def list_releases(*, as_json: AsJson = False) -> None:
    """List the releases that were fetched, and the clusters that were started."""
    rows = listing(Home.from_environment())
    if as_json:
        _print_json(rows)
        return
    if not rows:
        typer.echo("nothing fetched yet: python -m tools.lab fetch 3.9.2")
    for row in rows:
        at = f"  {row['bootstrap']}" if row["state"] != "down" else ""
        typer.echo(f"{row['release']:<8} {row['jars']:>3} jars  {row['state']:<6}{at}".rstrip())


if __name__ == "__main__":
    enter("tools.lab", sys.argv[1:])
    refusals.run(app)
