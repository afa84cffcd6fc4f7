"""A run as lanes: what every replica was at every moment, from the events alone.

The same events say when a broker was dead or fenced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from isr_pipeline.report.faults import fault_label
from isr_pipeline.report.story import NOBODY, Partition, Run, Standing, Story
from isr_pipeline.scenarios.faults import ControlledRestart, Crash
from isr_pipeline.worlds.encoder import planned_ticks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.run import Samples


SESSION_OVER, SHUT_DOWN, UNFENCED = "session over: fenced", "shut down: fenced", "unfenced"


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened to a broker.

    Attributes:
        t_ms: when; ``broker``: to which; ``what``: in words.
    """

    t_ms: float
    broker: int
    what: str


def moments(scenario: Scenario, events: Iterable[Mapping[str, Any]]) -> list[Moment]:
    """Fencing and its end, and whether a session had run out.

    A broker that shuts down in a controlled way is let go; every other is fenced because nothing
    was heard from it for as long as its session lasts.
    """
    found = []
    for event in events:
        if event["kind"] == "broker_fenced":
            t_ms, broker = float(event["t_ms"]), int(event["broker"])
            let_go = any(
                isinstance(fault, ControlledRestart)
                and fault.broker == broker
                and fault.start_ms <= t_ms <= fault.start_ms + fault.downtime_ms
                for fault in scenario.faults
            )
            found.append(Moment(t_ms, broker, SHUT_DOWN if let_go else SESSION_OVER))
        elif event["kind"] == "broker_unfenced":
            found.append(Moment(float(event["t_ms"]), int(event["broker"]), UNFENCED))
    return found


def dead_times(
    scenario: Scenario, events: Iterable[Mapping[str, Any]]
) -> dict[int, list[tuple[float, float]]]:
    """Broker -> times in ms without a serving process: from its death until it is unfenced.

    A crash begins when the fault does. A controlled shutdown leads until it is let go, which the
    events tell; without such an event it lasts as long as the fault says.
    """
    told = moments(scenario, events)
    dead: dict[int, list[tuple[float, float]]] = {}
    for fault in scenario.faults:
        broker: int = getattr(fault, "broker", NOBODY)
        if isinstance(fault, Crash):
            back = fault.restart_after_ms
            begin = fault.start_ms
            earliest = scenario.horizon_ms if back is None else fault.start_ms + back
        elif isinstance(fault, ControlledRestart):
            earliest = fault.start_ms + fault.downtime_ms
            let_go = _first_moment(told, broker, SHUT_DOWN, fault.start_ms)
            begin = let_go if let_go is not None else fault.start_ms + fault.shutdown_ms
        else:
            continue
        end = _first_moment(told, broker, UNFENCED, earliest)
        if end is None:
            end = scenario.horizon_ms
        dead.setdefault(broker, []).append((begin, min(end, scenario.horizon_ms)))
    return dead


def _first_moment(told: Sequence[Moment], broker: int, what: str, since_ms: float) -> float | None:
    times = (m.t_ms for m in told if (m.broker, m.what) == (broker, what) and m.t_ms >= since_ms)
    return min(times, default=None)


LEADER, IN_ISR, OUT, FAILED, DEAD = "leader", "in ISR", "out of ISR", "failed", "broker dead"
COLOURS = {
    LEADER: "#0072b2",
    IN_ISR: "#7cc0e8",
    OUT: "#e69f00",
    FAILED: "#cc79a7",
    DEAD: "#5c5c5c",
}
"""Told apart by every kind of eye (Okabe and Ito), and by their lightness in print."""

PATTERNS = {LEADER: "", IN_ISR: "", OUT: "/", FAILED: "x", DEAD: "."}
OFFLINE = "offline: no leader"
OFFLINE_COLOUR = "#d5350e"
MOMENT_SYMBOLS = {SESSION_OVER: "x", SHUT_DOWN: "square", UNFENCED: "circle"}
DARK, LIGHT = "#111111", "#ffffff"
MOMENT_COLOURS = {SESSION_OVER: (DARK, LIGHT), SHUT_DOWN: (DARK, LIGHT), UNFENCED: (LIGHT, DARK)}
"""Fill and edge: together they are seen on light and on dark."""

TICKS_MAX = 60
"""Ticks of one broker over a run up to which they are drawn."""
FAULT_COLOUR = "rgba(128,128,128,0.29)"
NO_COLOUR = "rgba(0,0,0,0)"
LANE_PX = 26

LABEL_PX, LABELS_HIGH = 13, 6
"""Names of faults stand above the first lane, so many on top of each other."""

TITLE_PX = 40
"""Between two runs, where the lower one's title stands."""

AROUND_PX = 140
"""Above the first title and below the last axis."""

CURVE_PX = 190
MAX_LANES = 60
MAX_CURVES = 8


@dataclass(frozen=True, slots=True)
class Segment:
    """A replica is one thing from ``begin_ms`` to ``end_ms``."""

    begin_ms: float
    end_ms: float
    state: str


Lane = tuple[str, int, int]
"""(topic, partition, broker)."""


def lanes_of(
    run: Run, partitions: Iterable[Partition]
) -> tuple[dict[Lane, list[Segment]], dict[Partition, list[tuple[float, float]]]]:
    """Segments of every replica, and the offline periods of every partition.

    Args:
        run: what happened.
        partitions: those that are wanted.

    Returns:
        Lanes by (topic, partition, broker); periods by (topic, partition).
    """
    dead = dead_times(run.scenario, run.events)
    lanes: dict[Lane, list[Segment]] = {}
    offline: dict[Partition, list[tuple[float, float]]] = {}
    for place in partitions:
        stood = run.standings[place]
        for broker in run.replicas[place]:
            lanes[*place, broker] = _dead_in(_lane(broker, stood), dead.get(broker, []))
        offline[place] = _offline(stood)
    return lanes, offline


def _lane(broker: int, stood: Iterable[Standing]) -> list[Segment]:
    """What a replica is, stretch after stretch; neighbours of one state are one."""
    found: list[Segment] = []
    for one in stood:
        state = _state(broker, one)
        if found and found[-1].state == state:
            found[-1] = Segment(found[-1].begin_ms, one.end_ms, state)
        else:
            found.append(Segment(one.begin_ms, one.end_ms, state))
    return found


def _state(broker: int, stood: Standing) -> str:
    if broker == stood.leader:
        return LEADER
    if broker in stood.failed:
        return FAILED
    return IN_ISR if broker in stood.isr else OUT


def _offline(stood: Iterable[Standing]) -> list[tuple[float, float]]:
    """Periods without a leader; what follows without a gap is one."""
    found: list[tuple[float, float]] = []
    for one in stood:
        if one.leader != NOBODY:
            continue
        if found and found[-1][1] == one.begin_ms:
            found[-1] = (found[-1][0], one.end_ms)
        else:
            found.append((one.begin_ms, one.end_ms))
    return found


def _dead_in(segments: list[Segment], dead: list[tuple[float, float]]) -> list[Segment]:
    """A lane in which nothing is said of a broker's replica while the broker is dead."""
    for begin, end in dead:
        cut = [
            Segment(max(one.begin_ms, low), min(one.end_ms, high), one.state)
            for one in segments
            for low, high in ((0.0, begin), (end, float("inf")))
            if max(one.begin_ms, low) < min(one.end_ms, high)
        ]
        segments = sorted([*cut, Segment(begin, end, DEAD)], key=lambda one: one.begin_ms)
    return segments


def draw(story: Story, samples: Samples | None = None, *, most: int = MAX_LANES) -> go.Figure:
    """Draw the partitions of a story that were hit, its runs above one another.

    Args:
        story: what was run; its faults are shaded.
        samples: curves of HW and LEO and the queues' depth, drawn below.
        most: lanes that a run has room for.
    """
    shown = story.shown(most)
    drawn = {run.title: lanes_of(run, shown) for run in story.runs}
    heights = [LANE_PX * (len(lanes) + 1) for lanes, _ in drawn.values()]
    above_px = LABEL_PX * min(LABELS_HIGH, len(story.scenario.faults))
    heights[0] += above_px
    titles = list(drawn)
    if samples is not None:
        heights.append(CURVE_PX)
        whose = f", {titles[-1]}" if len(titles) > 1 else ""
        titles.append(f"LEO and high watermark{whose}")
        if queues(samples):
            heights.append(CURVE_PX)
            titles.append("requests that wait in the queue")
    figure = make_subplots(
        rows=len(heights),
        cols=1,
        shared_xaxes=True,
        row_heights=heights,
        vertical_spacing=TITLE_PX / (sum(heights) + TITLE_PX * len(heights)),
        subplot_titles=titles,
    )
    named: set[str] = set()
    for row, run in enumerate(story.runs, 1):
        lanes, offline = drawn[run.title]
        room = above_px if row == 1 else 0
        _draw_lanes(figure, row, lanes, offline, named=named, above_px=room)
        _draw_moments(figure, row, lanes, moments(run.scenario, run.events), named=named)
        _draw_ticks(figure, row, run.scenario, lanes)
    if samples is not None:
        _draw_curves(figure, len(drawn) + 1, samples, shown)
    _shade_faults(figure, story.scenario)
    figure.update_layout(
        height=sum(heights) + TITLE_PX * (len(heights) - 1) + AROUND_PX,
        barmode="overlay",
        margin={"l": 150, "r": 20, "t": 90, "b": 40},
        legend={"orientation": "h", "yref": "container", "y": 1.0, "yanchor": "top", "x": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif"},
    )
    horizon_s = story.scenario.horizon_ms / 1000
    figure.update_xaxes(range=[0, horizon_s], gridcolor="rgba(128,128,128,0.2)")
    figure.update_xaxes(title_text="seconds", row=len(heights), col=1)
    return figure


def _draw_lanes(
    figure: go.Figure,
    row: int,
    lanes: dict[Lane, list[Segment]],
    offline: dict[Partition, list[tuple[float, float]]],
    *,
    named: set[str],
    above_px: int,
) -> None:
    """One bar a segment, one lane a replica; offline periods in red across their partition."""
    names = [f"{topic}-{number} on {broker}" for topic, number, broker in lanes]
    for state, colour in COLOURS.items():
        rows = [
            (name, s)
            for lane, name in zip(lanes, names, strict=True)
            for s in lanes[lane]
            if s.state == state
        ]
        figure.add_trace(
            go.Bar(
                y=[name for name, _ in rows],
                base=[s.begin_ms / 1000 for _, s in rows],
                x=[(s.end_ms - s.begin_ms) / 1000 for _, s in rows],
                orientation="h",
                name=state,
                legendgroup=state,
                showlegend=_first(state, named, rows),
                marker=_marker(state, colour),
                hovertemplate="%{y}: " + state + " from %{base:.3f} s<extra></extra>",
            ),
            row=row,
            col=1,
        )
    red = [
        (name, begin, end)
        for (topic, number, _), name in zip(lanes, names, strict=True)
        for begin, end in offline[topic, number]
    ]
    figure.add_trace(
        go.Bar(
            y=[name for name, _, _ in red],
            base=[begin / 1000 for _, begin, _ in red],
            x=[(end - begin) / 1000 for _, begin, end in red],
            orientation="h",
            name=OFFLINE,
            legendgroup=OFFLINE,
            showlegend=_first(OFFLINE, named, red),
            width=0.5,
            marker={"color": OFFLINE_COLOUR},
            hovertemplate="%{y}: partition offline from %{base:.3f} s<extra></extra>",
        ),
        row=row,
        col=1,
    )
    figure.update_yaxes(
        categoryorder="array",
        categoryarray=names[::-1],
        range=[-0.5, len(names) - 0.5 + above_px / LANE_PX],
        showgrid=False,
        row=row,
        col=1,
    )


def _first(name: str, named: set[str], drawn: Sequence[Any]) -> bool:
    """Whether the legend names it here: where it is first drawn, in whichever run that is."""
    is_first = bool(drawn) and name not in named
    if is_first:
        named.add(name)
    return is_first


def _marker(state: str, colour: str) -> dict[str, Any]:
    """How the bars of a state look: a pattern tells states apart without colours."""
    return {
        "color": colour,
        "line": {"width": 0},
        "pattern": {
            "shape": PATTERNS[state],
            "bgcolor": colour,
            "fgcolor": "#ffffff",
            "size": 6,
            "solidity": 0.2,
        },
    }


def _draw_moments(
    figure: go.Figure,
    row: int,
    lanes: dict[Lane, list[Segment]],
    told: list[Moment],
    *,
    named: set[str],
) -> None:
    """A sign on every lane of a broker where its session ends, or it is fenced or unfenced."""
    for what, symbol in MOMENT_SYMBOLS.items():
        places = [
            (one.t_ms / 1000, f"{topic}-{number} on {broker}")
            for one in told
            if one.what == what
            for topic, number, broker in lanes
            if broker == one.broker
        ]
        if places:
            fill, edge = MOMENT_COLOURS[what]
            line = {"width": 1, "color": edge}
            look = {"symbol": symbol, "size": 9, "color": fill, "line": line}
            _draw_signs(figure, row, what, places, look, legend=_first(what, named, places))


def _draw_ticks(
    figure: go.Figure,
    row: int,
    scenario: Scenario,
    lanes: dict[Lane, list[Segment]],
) -> None:
    """A stroke on every leader's lane where its broker looks for followers to remove.

    As planned: until the broker first dies, for its return begins another series. Nothing if there
    are so many that they would hide the lanes.
    """
    places = []
    for (topic, number, broker), segments in lanes.items():
        first_ms, period_ms = planned_ticks(scenario)[broker]
        if scenario.horizon_ms / period_ms > TICKS_MAX:
            return
        dies_ms = min((s.begin_ms for s in segments if s.state == DEAD), default=float("inf"))
        leads = [s for s in segments if s.state == LEADER]
        t_ms = first_ms
        while t_ms < min(scenario.horizon_ms, dies_ms):
            if any(s.begin_ms <= t_ms < s.end_ms for s in leads):
                places.append((t_ms / 1000, f"{topic}-{number} on {broker}"))
            t_ms += period_ms
    if places:
        look = {"symbol": "line-ns", "size": 12, "line": {"width": 2, "color": "#ffffff"}}
        # white on a lane is nothing in a legend: the caption says what the strokes are
        _draw_signs(figure, row, "isr-expiration tick", places, look, legend=False)


def _draw_signs(
    figure: go.Figure,
    row: int,
    what: str,
    places: list[tuple[float, str]],
    look: dict[str, Any],
    *,
    legend: bool,
) -> None:
    figure.add_trace(
        go.Scatter(
            x=[second for second, _ in places],
            y=[name for _, name in places],
            mode="markers",
            name=what,
            legendgroup=what,
            showlegend=legend,
            marker=look,
            hovertemplate="%{y}: " + what + " at %{x:.3f} s<extra></extra>",
        ),
        row=row,
        col=1,
    )


def _draw_curves(figure: go.Figure, row: int, samples: Samples, shown: Sequence[Partition]) -> None:
    """LEO and HW of the leaders that are drawn, then the queues' depth if any request waits."""
    seconds = [t / 1000 for t in samples.t_ms]
    palette = (
        "#0072b2",
        "#e69f00",
        "#009e73",
        "#cc79a7",
        "#56b4e9",
        "#d55e00",
        "#8a8a8a",
        "#b8a800",
    )
    for index, name in enumerate([one for one in shown if one in samples.leo][:MAX_CURVES]):
        colour = palette[index % len(palette)]
        title = f"{name[0]}-{name[1]}"
        for curve, label, dash in ((samples.leo, "LEO", "dot"), (samples.hw, "HW", "solid")):
            figure.add_trace(
                go.Scatter(
                    x=seconds,
                    y=[value if value >= 0 else None for value in curve[name]],
                    mode="lines",
                    line={"color": colour, "width": 1.3, "dash": dash, "shape": "hv"},
                    name=f"{label} {title}",
                ),
                row=row,
                col=1,
            )
    if not queues(samples):
        return
    figure.update_yaxes(rangemode="tozero", row=row + 1, col=1)
    for index, (broker, depth) in enumerate(samples.queue.items()):
        figure.add_trace(
            go.Scatter(
                x=seconds,
                y=depth,
                mode="lines",
                line={"color": palette[index % len(palette)], "width": 1.3, "shape": "hv"},
                name=f"queue of {broker}",
            ),
            row=row + 1,
            col=1,
        )


def queues(samples: Samples) -> bool:
    """Whether a request waits in some broker's queue; a panel of zeros would say nothing."""
    return any(depth > 0 for depths in samples.queue.values() for depth in depths)


def _shade_faults(figure: go.Figure, scenario: Scenario) -> None:
    """A grey band for every fault that lasts, a line for one that does not."""
    for number, fault in enumerate(scenario.faults):
        begin = fault.start_ms / 1000
        last = getattr(fault, "duration_ms", None)
        if fault.kind == "crash":
            last = fault.restart_after_ms
            last = scenario.horizon_ms - fault.start_ms if last is None else last
        elif fault.kind == "controlled_restart":
            last = fault.downtime_ms
        end = min(scenario.horizon_ms, fault.start_ms + (last or 0)) / 1000
        label = {
            "annotation_text": fault_label(fault),
            "annotation_position": "top left",
            "annotation_font_size": 10,
            "annotation_font_color": "#222222",
            "annotation_bgcolor": "rgba(255,255,255,0.75)",
            "annotation_yshift": -LABEL_PX * (number % LABELS_HIGH),
        }
        if end > begin:
            figure.add_vrect(
                x0=begin, x1=end, fillcolor=NO_COLOUR, line_width=0, row=1, col=1, **label
            )  # the label alone
            figure.add_vrect(x0=begin, x1=end, fillcolor=FAULT_COLOUR, line_width=0)
        else:
            figure.add_vline(
                x=begin, line={"color": "grey", "width": 1, "dash": "dot"}, row=1, col=1, **label
            )
