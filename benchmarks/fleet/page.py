"""The page about scale, with its tables and charts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.fleet.dollars import Peer, dollars_a_day
from benchmarks.fleet.plot import bars, lines
from benchmarks.fleet.scenarios import FLEET, GOAL, HOT, Scenario, limits
from tidegate.platform.core.costs.figures import Figures

#: What `benchmarks.fleet.reality` printed last.
MEASURED = Path(__file__).with_name("measured.json")
_TEMPLATE = Path(__file__).with_name("scale.md.in")
_SERVICES = ("compute", "S3 requests", "SQS", "DynamoDB")


@dataclass(frozen=True)
class Results:
    """What the page shows.

    Attributes:
        steady: the fleet with its usual load, in several settings.
        windows: windows of hot and of other tables, and what becomes of the fleet with them.
        scaled: the fleet with multiples of its load.
        export: an export of 26 tables.
        black_friday: an hour of ten times the load.
        peers: the fleet elsewhere.
    """

    steady: Sequence[Scenario]
    windows: Sequence[tuple[float, float, Scenario]]
    scaled: Sequence[tuple[float, Scenario]]
    export: Scenario
    black_friday: Sequence[Scenario]
    peers: Sequence[Peer]


def write(results: Results, figures: Figures, docs: Path) -> None:
    """Write `operate/scale.md` and its images below a folder of documents."""
    tuned = results.steady[-1]
    images = docs / "images"
    for name, chart in _charts(results, figures, tuned).items():
        (images / f"scale-{name}.svg").write_text(chart, encoding="utf-8")
    measured = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else []
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        steady=_steady(results.steady, figures),
        limits=_limits(tuned, figures),
        scaled=_scaled(results.scaled, figures),
        windows=_windows(results.windows, figures),
        cheapest=_cheapest(results.windows, figures),
        bursts=_bursts(results.export, results.black_friday),
        extras=_extras(tuned, figures),
        peers=_peers(tuned, results.peers, figures),
        reality=_reality(measured),
        figures=_figures(figures),
    )
    (docs / "operate" / "scale.md").write_text(text, encoding="utf-8")


def cheapest(
    choices: Iterable[tuple[float, float, Scenario]], figures: Figures
) -> tuple[float, float, Scenario] | None:
    """Return the windows that hold the goal for hot tables at least cost. None if no windows do."""
    held = [choice for choice in choices if choice[2].hot[1] <= GOAL]
    return min(held, key=lambda choice: sum(choice[2].dollars(figures).values()), default=None)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    found = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    found += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(found)


def _steady(scenarios: Sequence[Scenario], figures: Figures) -> str:
    rows: list[tuple[object, ...]] = [
        (
            scenario.name,
            _seconds(scenario.hot),
            _seconds(scenario.outcome.freshness()),
            f"{scenario.outcome.runs_a_minute:.0f}",
            f"{scenario.outcome.cores:.1f}",
            f"{_spark(scenario, figures):.1f}",
            f"{max(depth for _, depth in scenario.outcome.depth):,}",
            f"{scenario.outcome.flight:,}",
            f"{sum(scenario.dollars(figures).values()):,.0f}",
        )
        for scenario in scenarios
    ]
    head = ("", f"{HOT} hot tables, s", "all objects, s", "runs a minute", "cores", "of them Spark's")
    return table((*head, "deepest queue", "in flight", "$ a day"), rows)


def _spark(scenario: Scenario, figures: Figures) -> float:
    outcome = scenario.outcome
    cpu = outcome.batches * figures["batch_cpu"] * figures["spark_share_of_batch"]
    return (cpu + outcome.committed * figures["file_cpu"] * figures["spark_share_of_files"]) / outcome.seconds


def _limits(scenario: Scenario, figures: Figures) -> str:
    used = sorted(limits(scenario, figures).items(), key=lambda item: -item[1])
    return table(
        ("limit", "used", "breaks at, million objects a day"),
        ((name, f"{share:.0%}", f"{FLEET.a_day / 1e6 / share:,.0f}") for name, share in used),
    )


def _scaled(scaled: Sequence[tuple[float, Scenario]], figures: Figures) -> str:
    return table(
        ("million objects a day", "hot tables, s", "all objects, s", "cores", "messages left", "$ a day"),
        (
            (
                f"{scenario.load.a_day / 1e6:,.0f}",
                _seconds(scenario.hot),
                _seconds(scenario.outcome.freshness()),
                f"{scenario.outcome.cores:.1f}",
                f"{scenario.outcome.depth_at_end:,}",
                f"{sum(scenario.dollars(figures).values()):,.0f}",
            )
            for _, scenario in scaled
        ),
    )


def _windows(choices: Sequence[tuple[float, float, Scenario]], figures: Figures) -> str:
    return table(
        ("window, hot tables", "window, others", "hot tables, s", "others too, s", "runs a minute", "cores", "$ a day"),
        (
            (
                f"{hot:g}",
                f"{others:g}",
                _seconds(scenario.hot),
                _seconds(scenario.outcome.freshness()),
                f"{scenario.outcome.runs_a_minute:.0f}",
                f"{scenario.outcome.cores:.1f}",
                f"{sum(scenario.dollars(figures).values()):,.0f}",
            )
            for hot, others, scenario in choices
        ),
    )


def _cheapest(choices: Sequence[tuple[float, float, Scenario]], figures: Figures) -> str:
    found = cheapest(choices, figures)
    if found is None:
        return f"No windows hold {GOAL / 60:.0f} minutes for the hot tables."
    hot, others, scenario = found
    cost, p95 = sum(scenario.dollars(figures).values()), scenario.hot[1]
    return (
        f"**{hot:g} seconds for the hot tables and {others:g} for the others** hold {GOAL / 60:.0f} minutes at least "
        f"cost,\n${cost:,.0f} a day: 95 in a hundred objects of the {HOT} hot tables are visible within {p95:.0f} s."
    )


def _bursts(export: Scenario, black_friday: Sequence[Scenario]) -> str:
    rows = []
    for scenario in (export, *black_friday):
        lags = scenario.outcome.over_time(60.0)
        worst = max(lag for _, lag in lags)
        burst = scenario.load.bursts[0]
        after = [at for at, lag in lags if at > burst.ends and lag > 2 * lags[5][1]]
        minutes = f"{(max(after) - burst.ends) / 60:.0f}" if after else "0"
        ended = bool(after) and max(after) > scenario.load.seconds - 120
        rows.append(
            (
                scenario.name,
                f"{max(depth for _, depth in scenario.outcome.depth):,}",
                f"{max(scenario.outcome.hints):,}",
                f"{worst:,.0f}",
                f"more than {minutes}" if ended else minutes,
                f"{scenario.outcome.flight:,}",
            )
        )
    head = ("burst", "deepest queue", "most hints in the inbox", "longest 95th of a minute, s")
    return table((*head, "minutes until it is as before", "in flight"), rows)


def _peers(tuned: Scenario, peers: Sequence[Peer], figures: Figures) -> str:
    rows: list[tuple[object, ...]] = [_costs("Tidegate", tuned.dollars(figures), "see above")]
    rows += [_costs(peer.name, peer.dollars, peer.limit) for peer in peers]
    return table(("", *(f"{service}, $" for service in _SERVICES), "together, $ a day", "what breaks first"), rows)


def _extras(tuned: Scenario, figures: Figures) -> str:
    before = dollars_a_day(tuned.outcome, figures)
    merges = HOT * 86_400 / GOAL
    more = {
        "a route that forwards every event to a queue": dollars_a_day(tuned.outcome, figures, forwarded=1.0),
        f"{HOT} silver tables, merged every {GOAL / 60:.0f} minutes": dollars_a_day(
            tuned.outcome, figures, merges=merges
        ),
    }
    rows = [_costs(name, {part: after[part] - before[part] for part in after}, "")[:-1] for name, after in more.items()]
    return table(("in addition", *(f"{service}, $" for service in _SERVICES), "together, $ a day"), rows)


def _costs(name: str, dollars: Mapping[str, float], limit: str) -> tuple[object, ...]:
    parts = [f"{dollars[service]:,.2f}" if dollars.get(service) else "–" for service in _SERVICES]
    return name, *parts, f"{sum(dollars.values()):,.2f}", limit


def _reality(measured: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for run in measured:
        options, real, model = run["options"], run["measured"], run["predicted"]
        name = f"{options['tables']} tables, {options['seconds'] // 60} minutes, {options['a_minute']} objects a minute"
        name += f"; {run['other_work']}"
        pairs = [("files", real["files"], model["files"]), ("runs", real["runs"], model["runs"])]
        pairs.append(("batches", real["batches"], model["batches"]))
        pairs += zip(("median, s", "95th of 100, s", "longest, s"), real["freshness"], model["freshness"], strict=True)
        pairs.append(("CPU seconds", real["cpu_seconds"], model["cpu_seconds"]))
        rows += [
            (name if not n else "", what, f"{mine:,}", f"{theirs:,}", f"{(theirs - mine) / mine:+.0%}")
            for n, (what, mine, theirs) in enumerate(pairs)
        ]
    return table(("", "", "measured", "predicted", "difference"), rows) if rows else "No run is recorded."


def _figures(figures: Figures) -> str:
    return table(
        ("figure", "value", "unit", "source", "date"),
        (
            (f"`{name}`", f"{figure.value:.10g}", figure.unit, figure.source.replace("|", "/"), figure.date)
            for name, figure in ((name, figures.find(name)) for name in figures)
        ),
    )


def _charts(results: Results, figures: Figures, tuned: Scenario) -> dict[str, str]:
    by_table = tuned.outcome.by_table()
    ranks = [by_table.get(table, (0.0, 0.0, 0.0)) for table in tuned.load.hottest(tuned.load.tables).tolist()]
    others = sorted({others for _, others, _ in results.windows})
    return {
        "tables": lines(
            "Freshness by table, from the hottest to the coldest",
            "rank of the table",
            "seconds from PUT to visible",
            {
                name: _by_rank([seconds[n] for seconds in ranks])
                for n, name in ((2, "longest"), (1, "95th of 100"), (0, "median"))
            },
            log_x=True,
        ),
        "windows": lines(
            "What the windows cost",
            "window of the hot tables, s",
            "$ a day",
            {
                f"others {window:g} s": [
                    (hot, sum(scenario.dollars(figures).values()))
                    for hot, rest, scenario in results.windows
                    if rest == window
                ]
                for window in others
            },
        ),
        "black-friday": lines(
            "An hour with ten times the load, from minute 60 to 120",
            "minutes",
            "95th of 100 of the minute's objects, s",
            {
                scenario.name: [(at / 60, lag) for at, lag in scenario.outcome.over_time(60.0)]
                for scenario in results.black_friday
            },
        ),
        "dollars": bars(
            "A day of 4,200 tables and 60 million objects",
            "$ a day",
            _SERVICES,
            {"Tidegate": tuned.dollars(figures)} | {peer.name: peer.dollars for peer in results.peers},
        ),
    }


def _by_rank(seconds: Sequence[float]) -> list[tuple[float, float]]:
    """Return the mean of tables of about the same rank: dozens of points for thousands of tables."""
    edges = sorted({round(len(seconds) ** (place / 40)) for place in range(41)})
    groups = [(first, [each for each in seconds[first - 1 : last - 1] if each]) for first, last in pairwise(edges)]
    return [(rank, sum(group) / len(group)) for rank, group in groups if group]


def _seconds(freshness: tuple[float, float, float]) -> str:
    return ", ".join(f"{seconds:,.0f}" for seconds in freshness)
