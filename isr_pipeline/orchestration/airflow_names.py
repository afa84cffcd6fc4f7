"""Names of Airflow's public interface that lie elsewhere in its older releases.

Airflow 3.2 moved exceptions and timetables into `airflow.sdk`. In 3.1 the same classes lie in
`airflow.exceptions` and `airflow.timetables`.
"""

from __future__ import annotations

try:
    from airflow.sdk import CronTriggerTimetable
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowRescheduleException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )
except ImportError:  # 3.1
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowRescheduleException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )
    from airflow.timetables.trigger import CronTriggerTimetable

__all__ = [
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowRescheduleException",
    "AirflowSkipException",
    "AirflowTaskTimeout",
    "CronTriggerTimetable",
]
