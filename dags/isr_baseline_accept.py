"""### Accept a night as the baseline.

From then on every night of that experiment is compared with the accepted one. The same as
`isr-pipeline baseline accept NIGHT` on the command line. Who accepted what, when and why is kept
with the baseline and shown in every report.

#### Triage notes
* **Refused**: the night is not there, did not finish, or its data was refused. The exception in
  the log says which; run the night again first.
* **Failed pairs**: a configuration has pairs that spent their event budget. Accept the others by
  naming them under *Only these*.
* **Not compared**: the night is of another panel than the baseline. The exception says what had got
  worse in the last run that was compared; *Absorb unseen* accepts the night all the same.
"""

from __future__ import annotations

import functools
from typing import Any

from airflow.sdk import DAG, task

from isr_pipeline.night.airflow.connections import at_parsing
from isr_pipeline.night.airflow.elsewhere import do
from isr_pipeline.night.airflow.run_end import ACCEPT, leave, note_end, note_of_lines
from isr_pipeline.night.airflow.wiring import (
    BASELINE,
    Tag,
    accept_params,
    check_params,
    night_of,
    one_line_errors,
    pool,
    simulate_confirm,
    tell_baseline,
)

SETTINGS = at_parsing()
PARAMS = accept_params()

with DAG(
    dag_id="isr_baseline_accept",
    description="Make a finished night the one that others are compared with",
    doc_md=__doc__,
    schedule=None,
    max_active_runs=1,
    on_success_callback=functools.partial(note_end, task=ACCEPT),
    on_failure_callback=functools.partial(note_end, task=ACCEPT),
    params=PARAMS,
    tags=[Tag.BY_HAND, Tag.BASELINE],
) as dag:

    @task(outlets=[BASELINE], **pool(SETTINGS))
    @one_line_errors
    def accept(**context: Any) -> str:
        """Pin the night and write down who, when and why."""
        check_params(context, PARAMS)
        params, run = context["params"], context["dag_run"]
        given = {
            "experiment": params["experiment"],
            "night": night_of(context),
            "who": params["who"] or getattr(run, "triggering_user_name", None) or "Airflow",
            "why": params["why"],
            "only": [name for name in (params["only"] or "").split(",") if name],
            "absorb_unseen": params["absorb_unseen"],
        }
        done = do("accept", simulated=False, **given)
        if "simulate" in done:
            simulate_confirm(done["simulate"])
            done = do("accept", simulated=True, **given)
        lines: list[str] = done["lines"]
        for line in lines:
            print(line)  # noqa: T201 - into the task's log
        tell_baseline(context, params["experiment"], night_of(context), params["why"])
        first, *more = lines
        leave(context, first, note_of_lines(first, *(line.strip() for line in more)))
        return first

    accept()
