"""A kernel's own process: a JSON request a line on standard input, its answer on standard output.

This file is run by its path, with the package of *some* day before all others in the path, and
therefore uses nothing of its own package but what every kernel has had: `scenario_from_json`,
`apply` and `run`. Its argument is a folder with that day's compiled rooms, whose machine code may
be there already. `isr_pipeline.kernels.process` is its other end and says what the lines hold.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from typing import IO, Any


def main() -> None:
    """Answer requests until there are no more."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no answer
    try:
        import numba  # noqa: PLC0415 - the failure is the answer
        import numpy as np  # noqa: PLC0415

        import isr_pipeline  # noqa: PLC0415

        isr_pipeline.__path__.insert(0, sys.argv[1])
        from isr_pipeline.scenarios.model import apply, scenario_from_json  # noqa: PLC0415
        from isr_pipeline.worlds.run import run  # noqa: PLC0415
    except Exception as error:
        _say(out, {"error": f"{type(error).__name__}: {error}"})
        return
    versions = {"numba": numba.__version__, "numpy": np.__version__}
    _say(out, {"libraries": {"python": platform.python_version(), **versions}})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            scenario = apply(scenario_from_json(json.dumps(asked["scenario"])), asked["overrides"])
            done = run(
                scenario,
                events=asked.get("events", False),
                sample_ms=asked.get("sample_ms", 0.0),
            )
            _say(out, {"outcome": done.outcome, "events": done.events, **_curves(done.samples)})
        except Exception as error:
            _say(out, {"error": f"{type(error).__name__}: {error}"})


def _curves(samples: Any) -> dict[str, Any]:
    """Curves with texts for keys; nothing if none were sampled."""
    if samples is None:
        return {}
    named = {
        f"{what} of {topic}-{partition}": values
        for what in ("leo", "hw")
        for (topic, partition), values in getattr(samples, what).items()
    }
    queues = {f"request queue of {broker}": values for broker, values in samples.queue.items()}
    return {"t_ms": samples.t_ms, "curves": named | queues}


def _say(out: IO[str], answer: dict[str, Any]) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
