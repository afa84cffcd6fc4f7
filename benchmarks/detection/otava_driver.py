"""Runs inside Otava's environment: series in (JSON, stdin), two answers per series out (stdout).

Usage: ``python otava_driver.py WEEK``. For each series: does a rise begin at its last value, asked
now, and asked again after that value came WEEK more times?
"""

import json
import sys

from otava.series import AnalysisOptions, Metric, Series

MAGNITUDE = 0.10
"""Otava's own option: smaller changes are none. The least ratio that matters here is 1.10."""


def rise_at(values: list[float], index: int) -> bool:
    """Whether Otava reports a change point at that index after which the metric is higher."""
    series = Series(
        test_name="night",
        branch=None,
        time=list(range(len(values))),
        metrics={"metric": Metric()},
        data={"metric": values},
        attributes={},
    )
    options = AnalysisOptions()
    options.min_magnitude = MAGNITUDE
    points = series.analyze(options).change_points["metric"]
    return any(p.index == index and p.stats.mean_2 > p.stats.mean_1 for p in points)


def main() -> None:
    """Answer for every series."""
    week = int(sys.argv[1])
    answers = []
    for values in json.load(sys.stdin):
        last = len(values) - 1
        answers.append([rise_at(values, last), rise_at([*values, *[values[-1]] * week], last)])
    json.dump(answers, sys.stdout)


main()
