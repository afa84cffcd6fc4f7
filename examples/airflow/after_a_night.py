"""A DAG of your own that starts when a night of `operators` is judged."""

import logging
from typing import Any

from airflow.sdk import DAG, Asset, task

with DAG("after_a_night", schedule=[Asset("isr-pipeline/verdict/operators")]):

    @task
    def look(**context: Any) -> None:
        """Say whether the night was red."""
        for events in context["triggering_asset_events"].values():
            logging.getLogger(__name__).info("red: %s", [event.extra["red"] for event in events])

    look()
