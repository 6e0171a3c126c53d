"""Conflicts between the event types, the routes and the queues of `lake.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tidegate.platform.core.config.cross_checks import Table
from tidegate.platform.core.config.forwarding.event_types import EventTypeRule
from tidegate.platform.core.config.forwarding.routes import RouteSpec
from tidegate.platform.core.config.yaml_document import Location, Problem, shown


def route_problems(
    rules: Sequence[EventTypeRule],
    routes: Sequence[RouteSpec],
    buckets: Collection[str] | None,
    own_queues: Collection[str],
    root: str | None,
    tables: Mapping[int, Table],
) -> Iterator[Problem]:
    """Yield the conflicts.

    Args:
        rules: the rules of `event_types`.
        routes: the routes.
        buckets: the source buckets; None if they are invalid.
        own_queues: names of the queues that Tidegate reads, with their dead-letter queues.
        root: `s3://` address of the lake root; None if it is invalid.
        tables: the tables by their index.
    """
    for index, rule in enumerate(rules[:-1]):
        if rule.is_last:
            message = "this rule matches every event, so the rules after it are never tried; move it to the end"
            yield Problem(("event_types", index), message, related=("event_types", index + 1))
    yield from _same_rules(rules)
    yield from _bucket_problems(routes, buckets)
    yield from _unwrap_problems(routes, tables)
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


def _bucket_problems(routes: Sequence[RouteSpec], buckets: Collection[str] | None) -> Iterator[Problem]:
    for index, route in enumerate(routes):
        if route.bucket and buckets and route.bucket not in buckets:
            yield Problem(("routes", index, "bucket"), f"the bucket {route.bucket!r} is not in `buckets`; add it there")
        if route.unwrap and not route.bucket and len(set(buckets or ())) > 1:
            message = (
                "there are several `buckets`, and objects of one key of two of them would be unwrapped to one object; "
                "add `bucket` with the bucket whose objects are unwrapped to this folder, and a route with another "
                "folder for each other bucket"
            )
            yield Problem(("routes", index, "unwrap"), message)


def _unwrap_problems(routes: Sequence[RouteSpec], tables: Mapping[int, Table]) -> Iterator[Problem]:
    """Two sources never write one object: their keys could be equal below folders that overlap."""
    taken: dict[Location, tuple[str, str | None]] = {
        ("tables", index, "after_load", "move"): (table.moved_to, None)
        for index, table in tables.items()
        if table.moved_to
    }
    for index, route in enumerate(routes):
        if not route.unwrap:
            continue
        where, own = ("routes", index, "unwrap"), (route.unwrap, route.bucket or "")
        for other, there in taken.items():
            # The same object of the same bucket has the same lines there.
            if there != own and (there[0].startswith(own[0]) or own[0].startswith(there[0])):
                message = (
                    f"{route.unwrap} overlaps {there[0]} of {shown(other)}: objects of one name would meet there; "
                    "unwrap to a folder of its own"
                )
                yield Problem(where, message, related=other)
        taken[where] = own


def _same_rules(rules: Sequence[EventTypeRule]) -> Iterator[Problem]:
    before: dict[tuple[str | None, str | None, str | None], int] = {}
    for index, rule in enumerate(rules):
        condition = (rule.key, rule.tag, rule.attribute)
        if condition in before and not rule.is_last:
            message = f"this rule has the condition of event_types[{before[condition]}], so it is never used; remove it"
            yield Problem(("event_types", index), message, related=("event_types", before[condition]))
        before.setdefault(condition, index)
