"""The command ``cluster history``; what it does is imported where it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from isr_pipeline.night.options import AsJson


def cluster_history(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Metadata log, server.log, controller.log; folders."
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="FAULTS", help="Of a new file in config/faults."),
    ] = None,
    zone: Annotated[
        str, typer.Option("--zone", metavar="AREA/CITY", help="Of the times in logs.")
    ] = "UTC",
    *,
    as_json: AsJson = False,
) -> None:
    """Count crashes, restarts, dead disks and ISR shrinks; write a fault profile with them."""
    from isr_pipeline.base.files.whole import write_json  # noqa: PLC0415
    from isr_pipeline.clusters.history.fault_profile import place, write  # noqa: PLC0415
    from isr_pipeline.clusters.history.reading import read  # noqa: PLC0415
    from isr_pipeline.clusters.history.told import as_json as told_as_json  # noqa: PLC0415
    from isr_pipeline.clusters.history.told import lines  # noqa: PLC0415

    path = None if name is None else place(name)
    history = read(sources, zone)
    written = {} if path is None else write(history, path, len(sources))
    if as_json:
        file = None if path is None else str(path)
        write_json({**told_as_json(history), "written": written, "file": file}, "-", "--json")
        return
    typer.echo("\n".join(lines(history, written)))
    if path is not None:
        typer.echo(f"written to {path}; isr-pipeline experiment new CLUSTER --faults {name}")
