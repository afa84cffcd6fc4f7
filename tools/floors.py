"""The floors of the house: every folder, and what it may import.

`tests/test_floors.py` holds the sources to this table; `make reference` writes it into
docs/architecture.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the package, or one beside it.

    Attributes:
        name: as in ``isr_pipeline/NAME``, or of the folder beside the package.
        holds: what a person looks for in it.
    """

    name: str
    holds: str


FLOORS: tuple[tuple[Folder, ...], ...] = (
    (Folder("base", "errors, the home, files and stores, versions, progress"),),
    (Folder("kafka", "Kafka's rules, releases and keys"),),
    (
        Folder("simulation", "the kernel: events in time"),
        Folder("scenarios", "scenarios, fault profiles, cluster files"),
    ),
    (
        Folder("worlds", "a scenario laid out for the kernel, its outcome, the metrics"),
        Folder("clusters", "the import of a cluster"),
    ),
    (
        Folder("experiment", "what is compared, and the plan of a night"),
        Folder("conformance", "recordings of real brokers, sources that rules cite"),
        Folder("kernels", "kernels of other days, and the program that runs one"),
    ),
    (Folder("tables", "what a night keeps; `tables/validation` checks it"),),
    (Folder("verdicts", "what got worse; `verdicts/blame` says by which change"),),
    (Folder("report", "page, terminal, traces; `report/tracking` logs to MLflow"),),
    (Folder("night", "claim, steps, run; `night/airflow`, `night/spark` are tasks and jobs"),),
    (
        Folder("cli", "the command line"),
        Folder("dags", "the DAG files that Airflow reads"),
        Folder("spark_jobs", "the two files that spark-submit is given"),
    ),
)
"""Lowest first. A folder imports only folders of floors below its own."""

BESIDE_THE_PACKAGE = ("dags", "spark_jobs")
"""Folders of the table that are not below ``isr_pipeline``."""
