"""Plotly figures as plain dictionaries; colours that depend on the theme are set in the page.

A colour written as ``var(--name)`` is a variable of ``page.css``: the page's script puts the value
of the reader's light or dark scheme in its place.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import WIDE, shortened
from isr_pipeline.verdicts.quantities import in_unit, unit
from isr_pipeline.verdicts.record import ConfigVerdict

Chart = dict[str, Any]

ACCENT, WARM, MUTED, INK = "var(--accent)", "var(--warm)", "var(--muted)", "var(--ink)"
LINES = (ACCENT, WARM, "var(--line-3)", "var(--line-4)", "var(--line-5)", "var(--line-6)")

ROW_HEIGHT = 22
SLANTED = 6
"""Height that a character of a slanted name takes, in pixels."""

SHARE_MIN = 1.0
"""Percent of a metric's total from which on a kind has a column."""

RATIO_RANGE = (1e-3, 1e3)
RATIO_TICKS = (0.001, 0.01, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 100.0, 1000.0)

WIDE_RATIO = 20.0
WIDE_TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Ticks where the axis reaches further than that: more would stand one over another."""


def heat(data: NightData, metric: str) -> Chart | None:
    """A metric over the two main keys; None if fewer than two keys vary or all values are one."""
    found = data.heat(metric)
    if found is None:
        return None
    matrix = found.matrix
    if len(np.unique(matrix[np.isfinite(matrix)])) < 2:
        return None
    return {
        "data": [
            {
                "type": "heatmap",
                "x": found.columns,
                "y": found.rows,
                "z": numbers(matrix),
                "texttemplate": "%{z:.3g}",
                "colorscale": "Cividis",
                "reversescale": True,
                "xgap": 2,
                "ygap": 2,
                "colorbar": {"thickness": 10, "outlinewidth": 0, "exponentformat": "none"},
                "hovertemplate": f"%{{x}}, %{{y}}: %{{z:.4g}} {found.unit}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"type": "category", "title": {"text": data.heat_keys[0]}, "showgrid": False},
            "yaxis": {
                "type": "category",
                "title": {"text": data.heat_keys[1]},
                "automargin": True,
                "showgrid": False,
            },
            "height": 150 + 46 * len(found.rows),
        },
    }


def changed_forest(data: NightData, metric: str) -> Chart | None:
    """Ratio of tonight to the baseline for every configuration that is not bit-identical."""
    rows = [
        (
            f"{data.short[one.config_id]} (n {found.scenarios or data.verdict.scenarios})",
            *(found.pair.ratio, found.pair.low, found.pair.high),
        )
        for one in data.verdict.configurations
        for found in one.metrics
        if found.metric == metric and found.discordant and found.pair is not None
        if found.pair.ratio is not None
    ]
    return _ratios(sorted(rows, key=lambda row: row[1]), "ratio to the baseline")


def _ratios(rows: list[tuple[str, float, float | None, float | None]], title: str) -> Chart | None:
    """Ratios with their intervals, a row each; None without any."""
    if not rows:
        return None
    names, *columns = zip(*rows, strict=True)
    centre, low, high = (
        np.clip(np.nan_to_num(np.array(one, float), nan=none, posinf=RATIO_RANGE[1]), *RATIO_RANGE)
        for one, none in zip(columns, (1.0, 0.0, math.inf), strict=True)
    )
    reach = max(1.2, float(np.max(high, initial=1.0)), 1 / float(np.min(low, initial=1.0)))
    edge = math.log10(reach) * 1.05
    ticks = RATIO_TICKS if reach < WIDE_RATIO else WIDE_TICKS
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                "x": numbers(centre),
                "y": list(names),
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": numbers(np.maximum(high - centre, 0)),
                    "arrayminus": numbers(np.maximum(centre - low, 0)),
                    "color": ACCENT,
                    "thickness": 2,
                    "width": 0,
                },
                "marker": {"color": INK, "size": 7},
                "hovertemplate": "%{y}: %{x:.3g} ×<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {
                "type": "log",
                "title": {"text": title},
                "range": [-edge, edge],
                "tickvals": ticks,
                "ticktext": [f"{tick:g}" for tick in ticks],
            },
            "yaxis": {"automargin": True, "autorange": "reversed", "type": "category"},
            "shapes": [
                {
                    "type": "line",
                    "x0": 1.0,
                    "x1": 1.0,
                    "yref": "paper",
                    "y0": 0,
                    "y1": 1,
                    "line": {"color": MUTED, "width": 1},
                }
            ],
            "height": 110 + ROW_HEIGHT * len(names),
            "showlegend": False,
        },
    }


def differences(data: NightData, one: ConfigVerdict, metric: str) -> Chart | None:
    """Each scenario's difference to the baseline, sorted: is it a few scenarios or most of them?"""
    pair = data.pair(one)
    if pair is None:
        return None
    new, old = pair
    change = (new.natural(metric) - old.natural(metric))[:, 0]
    order = np.argsort(change, kind="stable")
    order = order[change[order] != 0]
    return {
        "data": [
            {
                "type": "bar",
                "x": list(range(1, len(order) + 1)),
                "y": numbers(change[order]),
                "text": [new.scenario_ids[at] for at in order],
                "textposition": "none",
                "marker": {"color": [WARM if change[at] > 0 else ACCENT for at in order]},
                "hovertemplate": "%{text}: %{y:.4g}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {
                "title": {"text": f"{len(order)} of {len(change)} scenarios differ, sorted"},
                "showticklabels": False,
            },
            "yaxis": {"title": {"text": "tonight − baseline"}},
            "bargap": 0.1,
            "height": 300,
            "showlegend": False,
        },
    }


def causes(data: NightData, metric: str, by: str) -> Chart | None:
    """Share of a metric's weighted total by fault kind or stratum: a row per configuration.

    Kinds that stand for less than 1 % under every configuration are left out. None where one kind
    stands for everything, or there is nothing.
    """
    kinds, totals = data.causes(metric, by)
    if np.count_nonzero(totals.sum(axis=1)) < 2:
        return None
    shares = 100 * totals / np.maximum(totals.sum(axis=0, keepdims=True), 1e-300)
    seen = shares.max(axis=1) >= SHARE_MIN
    names = [data.short[one] for one in data.panel.config_ids]
    told = [data.called(kind) if by == "strata" else kind for kind in kinds]
    across = [kind for kind, shown in zip(told, seen, strict=True) if shown]
    return {
        "data": [
            {
                "type": "heatmap",
                "x": across,
                "y": names,
                "z": numbers(shares[seen].T),
                "zmin": 0,
                "xgap": 1,
                "ygap": 1,
                "texttemplate": "%{z:.0f}",
                "colorscale": "Cividis",
                "reversescale": True,
                "showscale": False,
                "hovertemplate": "%{y}<br>%{x}: %{z:.1f} %<extra></extra>",
            }
        ],
        "narrow": {"data": [{"texttemplate": ""}]},
        "layout": {
            "xaxis": {"type": "category", "tickangle": -45, "automargin": True, "showgrid": False},
            "yaxis": {
                "type": "category",
                "automargin": True,
                "showgrid": False,
                "autorange": "reversed",
            },
            "height": 50 + SLANTED * max(map(len, across)) + ROW_HEIGHT * len(names),
        },
    }


def trend(data: NightData, metric: str, config_names: list[str]) -> Chart | None:
    """A metric of chosen configurations over the nights."""
    rows = data.trend
    if rows["night"].nunique() < 2:
        return None
    rows = rows[rows["metric"] == metric]
    rows = rows.assign(value=rows["value"] * in_unit(metric))
    lines = []
    short = shortened(config_names, WIDE)
    for index, name in enumerate(config_names):
        lines.append(
            _line(rows[rows["config_name"] == name], short[name], LINES[index % len(LINES)])
        )
    return {
        "data": lines,
        "layout": {
            "xaxis": {
                "type": "category",
                # a curve that begins late must not push its nights before the others'
                "categoryorder": "category ascending",
                "title": {"text": "night"},
            },
            "yaxis": {
                "title": {"text": f"{unit(metric)}, mean of the panel"},
                "rangemode": "tozero",
            },
            "height": 320,
        },
    }


def _line(rows: Any, name: str, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(rows["night"]),
        "y": numbers(rows["value"].to_numpy(float)),
        "line": {"color": colour, "width": 2},
        "hovertemplate": "%{x}: %{y:.4g}<extra>" + name + "</extra>",
    }


def numbers(values: Any) -> list[Any]:
    """Numbers as JSON knows them: six digits, null for what is not finite."""
    if isinstance(values, np.ndarray) and values.ndim > 1:
        return [numbers(row) for row in values]
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def as_json(charts: dict[str, Chart]) -> str:
    """All charts of a page, safe inside a script element."""
    return json.dumps(charts, separators=(",", ":")).replace("</", "<\\/")
