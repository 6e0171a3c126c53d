"""Conflicts between parts of `lake.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.platform.core.config.event_types import EventTypeRule
from tidegate.platform.core.config.queues import QueueSpec
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.config.yaml_document import Location, Problem, format_location
from tidegate.platform.core.events.row_queue import rows_prefix
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey


@dataclass(frozen=True)
class TablePart:
    """The valid parts of a table that is not valid as a whole: None for what is missing or invalid.

    Attributes:
        name: its SQL name.
        prefix: where its files land.
        has_rows: whether a row queue is given.
        row_queue: that queue.
        moved_to: the folder that its files are moved to after they were loaded.
        inventory: the folder that S3 delivers its inventory to.
        output_root: the folder that the objects of its output are below.
        output_typed: whether the folder of its output has the event type.
        has_inventories: whether its files are deliveries of S3 Inventory.
        exports: whether that folder is of the export of its silver table.
    """

    name: str | None
    prefix: str | None
    has_rows: bool
    row_queue: QueueSpec | None
    moved_to: str | None
    inventory: str | None
    output_root: str | None = None
    output_typed: bool = False
    has_inventories: bool = False
    exports: bool = False


Table = TableSpec | TablePart


def lake_problems(
    root: str | None,
    buckets: Collection[str] | None,
    queues: Collection[QueueSpec],
    tables: Mapping[int, Table],
    webhooks: Mapping[int, WebhookSpec],
    *,
    typed: bool = True,
) -> Iterator[Problem]:
    """Yield the conflicts, as far as the parts are known.

    Args:
        root: `s3://` address of the lake root, None when it is invalid.
        buckets: the source buckets, None when they are invalid.
        queues: the queues of events.
        tables: the tables by their index.
        webhooks: the valid webhooks by their index.
        typed: whether events may have a type.
    """
    yield from _prefix_problems(root, buckets, tables)
    yield from _queue_problems(queues)
    yield from _row_queue_problems(root, {name for queue in queues for name in queue.names}, tables)
    yield from _folder_problems(root, tables)
    yield from _inventory_problems(tables)
    yield from _output_problems(root, buckets or (), tables)
    for index, table in tables.items():
        if table.output_typed and not typed:
            message = (
                "no event has a type, because lake.yaml has no `event_types`; add rules, or leave {event:type} out"
            )
            yield Problem(("tables", index, "output", "folder"), message)
    yield from _webhook_problems(webhooks, tables)


def _queue_problems(queues: Collection[QueueSpec]) -> Iterator[Problem]:
    """Yield the problems of queues, which are identified by name: in the lineage, in metrics, and as the destination of
    their dead letters.
    """
    before: dict[str, int] = {}
    for index, queue in enumerate(queues):
        name, place = queue.name, ("queues", index)
        if name.endswith(".fifo"):
            message = "a queue of events is a standard queue: the dead letters of a FIFO queue could not be sent again"
            yield Problem(place, message)
        if name in before:
            other = before[name]
            message = f"{name!r} is also the name of queues[{other}]; queues differ by name, in all regions"
            yield Problem(place, message, related=("queues", other))
        before.setdefault(name, index)
    for index, queue in enumerate(queues):
        if queue.dlq in before and before[queue.dlq] != index:
            message = f"{queue.dlq!r} is a queue of `queues` as well; dead letters need a queue of their own"
            yield Problem(("queues", index, "dlq"), message, related=("queues", before[queue.dlq]))
        for other, earlier in enumerate(queues):
            if other < index and queue.dlq and queue.dlq == earlier.dlq and _are_in_different_places(queue, earlier):
                message = f"{queue.dlq!r} is also that of queues[{other}], which is elsewhere: give them two names"
                yield Problem(("queues", index, "dlq"), message, related=("queues", other, "dlq"))


def _are_in_different_places(left: QueueSpec, right: QueueSpec) -> bool:
    """Return whether two queues are in different regions or accounts, as far as lake.yaml shows it."""
    places = [queue.url.rstrip("/").rpartition("/")[0] for queue in (left, right) if queue.url]
    return len(places) == 2 and places[0] != places[1]


def _row_queue_problems(root: str | None, queues: set[str], tables: Mapping[int, Table]) -> Iterator[Problem]:
    before: dict[str, int] = {}
    for index, table in tables.items():
        if not table.has_rows:
            continue
        if table.prefix and root and table.name and table.prefix != rows_prefix(root, table.name):
            message = "the rows of a row queue are kept below the lake root, not at a prefix; remove one of the two"
            yield Problem(("tables", index, "prefix"), message, related=("tables", index, "row_queue"))
        if table.row_queue is None:
            continue
        place = ("tables", index, "row_queue")
        if table.row_queue.name.endswith(".fifo"):
            yield Problem(place, "a row queue is a standard queue: a FIFO queue gives its dead letters another time")
        for name in table.row_queue.names:
            if name in queues:
                yield Problem(place, f"the queue {name!r} is also in `queues`: events and rows need one each")
            elif name in before:
                other = before[name]
                message = f"{name!r} is also of the row queue of tables[{other}]; each table needs its own"
                yield Problem(place, message, related=("tables", other, "row_queue"))
            before.setdefault(name, index)


def _prefix_problems(
    root: str | None, buckets: Collection[str] | None, tables: Mapping[int, Table]
) -> Iterator[Problem]:
    lake_bucket = S3Address.parse(root).bucket if root else None
    if lake_bucket and buckets and lake_bucket in buckets:
        yield Problem(
            ("lake", "root"),
            f"the bucket {lake_bucket!r} is also a source bucket, so Tidegate's own files would notify it "
            f"about themselves; put the lake in a bucket of its own (say s3://{lake_bucket}-lake/), or take "
            f"{lake_bucket!r} off `buckets`",
        )
    # Named once: the loop looks at each pair of tables.
    known = {index: (table.name, _files(table)) for index, table in tables.items()}
    for index, (name, prefix) in known.items():
        bucket = TableKey.from_uri(prefix).bucket if prefix else None
        if bucket and buckets and bucket not in buckets:
            yield Problem(("tables", index, "prefix"), f"the bucket {bucket!r} is not in `buckets`; add it there")
        for other, (other_name, other_prefix) in known.items():
            if other >= index:
                break
            if name and name == other_name:
                message = f"{name!r} is also the name of tables[{other}]; names are unique"
                yield Problem(("tables", index, "name"), message, related=("tables", other, "name"))
            if prefix and other_prefix and _overlap(prefix, other_prefix):
                message = f"{prefix} overlaps {other_prefix} of tables[{other}]; table prefixes never overlap"
                yield Problem(("tables", index, "prefix"), message, related=("tables", other, "prefix"))


def _folder_problems(root: str | None, tables: Mapping[int, Table]) -> Iterator[Problem]:
    for index, table in tables.items():
        folder = table.moved_to
        where = ("tables", index, "after_load", "move")
        if not folder:
            continue
        if root and _overlap(folder, f"{root.rstrip('/')}/"):
            yield Problem(where, f"{folder} overlaps the lake root {root}; move to a folder outside it")
        for other, before in tables.items():
            if other < index and before.moved_to and _overlap(folder, before.moved_to):
                yield Problem(
                    where,
                    f"{folder} overlaps {before.moved_to}, where the files of tables[{other}] are moved to: files of "
                    "one name would meet there; give each table a folder of its own",
                    related=("tables", other, "after_load", "move"),
                )
        for other, prefix in ((other, _files(neighbour)) for other, neighbour in tables.items()):
            if prefix and _overlap(folder, prefix):
                yield Problem(
                    where,
                    f"{folder} overlaps {prefix} of tables[{other}], which would take the moved files for its own; "
                    "move to a folder outside it",
                    related=("tables", other, "prefix"),
                )


def _inventory_problems(tables: Mapping[int, Table]) -> Iterator[Problem]:
    for index, table in tables.items():
        for other, prefix in ((other, _files(neighbour)) for other, neighbour in tables.items()):
            # The table of inventories has a use for each delivery; a table that is reconciled with it has another.
            both = tables[other].has_inventories
            if table.inventory and prefix and not both and _overlap(table.inventory, prefix):
                yield Problem(
                    ("tables", index, "inventory"),
                    f"{table.inventory} overlaps {prefix} of tables[{other}], which would take the inventory's files "
                    "for its own; have it delivered elsewhere",
                    related=("tables", other, "prefix"),
                )


def _output_problems(root: str | None, buckets: Collection[str], tables: Mapping[int, Table]) -> Iterator[Problem]:
    """Yield an object of an output must never be announced as a new file: its rows would be written again and again."""
    for index, table in tables.items():
        if not (output := table.output_root):
            continue
        parts = ("silver", "export", "folder") if table.exports else ("output", "folder")
        where, bucket = ("tables", index, *parts), S3Address.parse(output).bucket
        if bucket in buckets:
            yield Problem(
                where,
                f"the bucket {bucket!r} is also a source bucket, so each object would come back as a new file; write "
                "to another bucket",
            )
        if root and _overlap(output, f"{root.rstrip('/')}/"):
            yield Problem(where, f"{output} overlaps the lake root {root}; write to a folder outside it")
        for other, neighbour in tables.items():
            for folder, field in ((neighbour.moved_to, ("after_load", "move")), (neighbour.inventory, ("inventory",))):
                if folder and _overlap(output, folder):
                    message = f"{output} overlaps {folder} of tables[{other}], whose files are not the output's"
                    yield Problem(where, f"{message}; write elsewhere", related=("tables", other, *field))


def _webhook_problems(webhooks: Mapping[int, WebhookSpec], tables: Mapping[int, Table]) -> Iterator[Problem]:
    row_queues = sorted(table.row_queue.name for table in tables.values() if table.row_queue)
    # The webhook may name a queue that is not valid; that has an error of its own.
    unknown = any(table.has_rows and table.row_queue is None for table in tables.values())
    before: dict[str, int] = {}
    for index, webhook in webhooks.items():
        if webhook.name in before:
            other = before[webhook.name]
            message = f"{webhook.name!r} is also the name of webhooks[{other}]; each sender has an address of its own"
            yield Problem(("webhooks", index, "name"), message, related=("webhooks", other, "name"))
        before.setdefault(webhook.name, index)
        if webhook.queue not in row_queues and not unknown:
            known = f"row queues: {', '.join(row_queues)}" if row_queues else "no table has a `row_queue`"
            message = f"{webhook.queue!r} is not a row queue of a table ({known})"
            yield Problem(("webhooks", index, "queue"), message)


def _files(table: Table) -> str | None:
    """Return the prefix of a table whose files a producer puts."""
    return None if table.has_rows else table.prefix


def _overlap(left: str, right: str) -> bool:
    return left.startswith(right) or right.startswith(left)


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
    """Yield the problems of routes that unwrap arrays.

    Two sources never write one object: their keys could be equal below folders that overlap.
    """
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
                    f"{route.unwrap} overlaps {there[0]} of {format_location(other)}: objects of one name would meet "
                    "there; unwrap to a folder of its own"
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
