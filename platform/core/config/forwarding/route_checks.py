"""Conflicts between the event types, the routes and the queues of `lake.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tidegate.platform.core.config.forwarding.event_types import EventTypeRule
from tidegate.platform.core.config.forwarding.routes import RouteSpec
from tidegate.platform.core.config.yaml_document import Problem


def route_problems(
    rules: Sequence[EventTypeRule], routes: Sequence[RouteSpec], own_queues: Collection[str], root: str | None
) -> Iterator[Problem]:
    """Yield the conflicts.

    Args:
        rules: the rules of `event_types`.
        routes: the routes.
        own_queues: names of the queues that Tidegate reads, with their dead-letter queues.
        root: `s3://` address of the lake root; None if it is invalid.
    """
    for index, rule in enumerate(rules[:-1]):
        if rule.is_last:
            message = "this rule matches every event, so the rules after it are never tried; move it to the end"
            yield Problem(("event_types", index), message, related=("event_types", index + 1))
    yield from _same_rules(rules)
    before: dict[str, int] = {}
    for index, route in enumerate(routes):
        if route.name in before:
            message = f"{route.name!r} is also the name of routes[{before[route.name]}]; names are unique"
            yield Problem(("routes", index, "name"), message, related=("routes", before[route.name], "name"))
        before.setdefault(route.name, index)
        if (route.types or route.queues_tagged) and not rules:
            what = "types" if route.types else "queues_tagged"
            message = "no event has a type, for lake.yaml has no `event_types`; add rules, or remove this"
            yield Problem(("routes", index, what), message)
        if route.unwrap and root and route.unwrap.startswith(f"{root.rstrip('/')}/"):
            message = f"{route.unwrap} is below the lake root {root}; write to a folder outside it"
            yield Problem(("routes", index, "unwrap"), message)
        for field, name in (("queue", route.queue.name if route.queue else None), ("unmatched", route.unmatched)):
            if name in own_queues:
                message = f"{name!r} is a queue that Tidegate reads, so each event would come back; use another queue"
                yield Problem(("routes", index, field), message)


def _same_rules(rules: Sequence[EventTypeRule]) -> Iterator[Problem]:
    before: dict[tuple[str | None, str | None, str | None], int] = {}
    for index, rule in enumerate(rules):
        condition = (rule.key, rule.tag, rule.attribute)
        if condition in before and not rule.is_last:
            message = f"this rule has the condition of event_types[{before[condition]}], so it is never used; remove it"
            yield Problem(("event_types", index), message, related=("event_types", before[condition]))
        before.setdefault(condition, index)
