"""Routing: which table an object belongs to, or which configured folder it is in, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidegate.platform.core.completion.signal_name import SignalName
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.row_queue import RowObject
from tidegate.platform.core.inventory.delivery import Delivery
from tidegate.platform.core.keys.file_format import FORMATS, FormatName, format_of
from tidegate.platform.core.keys.object_key import conventional_prefix, is_hidden, is_of_a_commit, place_of
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import MAX_ENCODED_LENGTH, TableKey
from tidegate.platform.core.routing.discovery import discovered_table
from tidegate.platform.core.routing.unrouted_events import Outcome


@dataclass(frozen=True, slots=True)
class Routed:
    """The object belongs to a table.

    Attributes:
        spec: configuration of the table, with the format and mode of this object.
        why: the rule that decided, as a sentence.
    """

    table: TableKey
    spec: TableSpec
    why: str


@dataclass(frozen=True, slots=True)
class NoRoute:
    """The object belongs to no table.

    Attributes:
        outcome: `own_file` if the object is never a source, `no_table` if it could be one.
        why: the rule that decided, with the remedy if there is one, as a sentence.
    """

    outcome: Outcome
    why: str


Route = Routed | NoRoute

# An object without a table is not read again automatically. It is still in S3, and such a run lists the prefix.
_MATERIALIZE_HINT = "and materialize its partition, which takes in what is there already"


def route(bucket: str, key: str, config: LakeConfig, known: Collection[TableKey]) -> Route:
    """Decide which table an object belongs to.

    A configured table has all objects below its prefix. A discovered one has those whose own folder it is. So the
    table of an object follows from its key and `lake.yaml`, and never from what came before. The time that it takes
    does not depend on the number of tables.

    Args:
        bucket: bucket of the object.
        key: decoded key of the object.
        known: the tables that exist. A discovered one continues if `lake.yaml` gives its SQL name to another.
    """
    if bucket == config.lake.bucket and key.startswith(config.lake.prefix):
        why = f"it is below the lake root {config.lake.root}, so it is a file of Tidegate itself"
        return NoRoute("own_file", why)
    if bucket not in config.buckets:
        why = f"the bucket {bucket!r} is not in `buckets` of lake.yaml; add it to take its files"
        return NoRoute("no_table", why)
    if key.endswith(("/", "_$folder$")):
        return NoRoute("own_file", "it is a folder marker: its name says folder, and it holds no data")
    spec = table_holding(bucket, key, config)
    if spec and spec.has_inventories:
        return _route_inventory(key, spec)
    signal = SignalName.parse(spec.completion) if spec and spec.completion else None
    if is_hidden(key) and not (signal and signal.matches(key)):
        return NoRoute(
            "own_file",
            'a folder or the name begins with "_" or ".": logs and work files of Delta and Spark are named '
            "like that, and Spark's readers skip them",
        )
    if folder := after_load_folder(bucket, key, config):
        return NoRoute("own_file", f"it is below {folder}, where after_load puts files that were loaded")
    if folder := inventory_folder(bucket, key, config):
        return NoRoute("own_file", f"it is below {folder}, where S3 delivers an inventory")
    if signal and signal.accompanies(key):
        return NoRoute("own_file", f"it belongs to a completion signal of table {spec.name!r}" if spec else "")
    format = format_of(key)
    if spec is None:
        return _discover(TableKey(bucket, conventional_prefix(key)), format, key, config, known)
    chosen = spec.format or format
    if chosen is None:
        why = f"{_unknown_format_reason(key)}; give table {spec.name!r} a `format` in lake.yaml {_MATERIALIZE_HINT}"
        return NoRoute("no_table", why)
    why = f"it is below {spec.prefix}, the prefix of table {spec.name!r} in lake.yaml"
    return Routed(spec.table_key, spec.resolve_format(chosen), why)


def _route_inventory(key: str, spec: TableSpec) -> Route:
    """Decide on an object of a table of inventories. A delivery is one source: its manifest.checksum, written last."""
    if Delivery.from_key(key, spec.table_key.prefix):
        return Routed(
            spec.table_key, spec, f"it completes an inventory below {spec.prefix}, the prefix of {spec.name!r}"
        )
    return NoRoute(
        "own_file",
        f"it is below {spec.prefix}, the prefix of table {spec.name!r}, where S3 delivers inventories. They enter with "
        "<source bucket>/<configuration>/<time>/manifest.checksum, right below the prefix",
    )


def rows_route(bucket: str, key: str, config: LakeConfig) -> Routed | None:
    """Return the table of an object that the intake of a row queue wrote, or None for every other object.

    This is for the intake and for listings of the table's prefix. To an event, the object is a file of Tidegate itself.
    """
    spec = table_holding(bucket, key, config)
    if spec is None or spec.row_queue is None or RowObject.from_key(key) is None:
        return None
    why = f"it holds messages of the row queue {spec.row_queue.name} of table {spec.name!r}"
    return Routed(spec.table_key, spec.resolve_format("json"), why)


def _discover(
    table: TableKey, format: FormatName | None, key: str, config: LakeConfig, known: Collection[TableKey]
) -> Route:
    if not config.discovery:
        remedy = f"add a table with its prefix to lake.yaml {_MATERIALIZE_HINT}"
        why = f"it is below no table's prefix and `discovery` is off; {remedy}"
        return NoRoute("no_table", why)
    if format is None:
        why = (
            f"{_unknown_format_reason(key)}; add a table with its prefix and its `format` to lake.yaml "
            f"{_MATERIALIZE_HINT}"
        )
        return NoRoute("no_table", why)
    if not table.prefix:
        return NoRoute(
            "no_table",
            f"it is in no folder{' but those of dates and k=v' if '/' in key else ''}, and the whole bucket would "
            "become its table; move it into a folder, or, if the bucket is one table, add it with the prefix "
            f"{table.uri} to lake.yaml {_MATERIALIZE_HINT}",
        )
    if len(table.encode()) > MAX_ENCODED_LENGTH:
        why = f"its folder makes a table key of more than {MAX_ENCODED_LENGTH} characters; use a shorter name"
        return NoRoute("no_table", why)
    if table not in known and (taker := config.taker_of_name(table.sql_name, table)):
        why = (
            f"its folder {table.uri} would become the table {table.sql_name!r}, and lake.yaml gives that name to "
            f"{taker.prefix}; add a table with this prefix and another name {_MATERIALIZE_HINT}"
        )
        return NoRoute("no_table", why)
    spec = discovered_table(table, format, config)
    return Routed(table, spec, f"its folder {table.uri} is a table by discovery, {spec.name!r}")


def _unknown_format_reason(key: str) -> str:
    name = key.rsplit("/", 1)[-1]
    ending = f"ending {name[name.index('.') :]!r}" if "." in name else f"name {name!r}"
    known = ", ".join(f".{known}" for format in FORMATS.values() for known in format.endings)
    return f"no format is known for the {ending} (known: {known}, some with .gz)"


def table_holding(bucket: str, key: str, config: LakeConfig) -> TableSpec | None:
    """Return the configured table whose prefix an object is below, or None."""
    prefixes, specs = config.tables_by_prefix.get(bucket, ([], []))
    place = place_of(key, prefixes)
    return None if place is None else specs[place]


def after_load_folder(bucket: str, key: str, config: LakeConfig) -> str | None:
    """Return the `s3://` folder to which `after_load` moves files, if an object is below such a folder."""
    return _enclosing_folder(config.after_load_folders, bucket, key)


def inventory_folder(bucket: str, key: str, config: LakeConfig) -> str | None:
    """Return the `s3://` folder to which S3 delivers an inventory, if an object is below such a folder."""
    return _enclosing_folder(config.inventory_folders, bucket, key)


def _enclosing_folder(folders: Sequence[str], bucket: str, key: str) -> str | None:
    place = place_of(S3Address(bucket, key).s3, folders)
    return None if place is None else folders[place]


def is_forwarded(bucket: str, key: str, config: LakeConfig) -> bool:
    """Return whether routes may take events of an object: one of a source bucket that Tidegate itself did not write."""
    return bucket in config.buckets and not is_of_a_commit(key) and not after_load_folder(bucket, key, config)


def route_takes(route: RouteSpec, bucket: str, key: str, event_type: str | None, config: LakeConfig) -> bool:
    """Return whether a route takes events of an object. `is_forwarded` holds for it.

    What a route unwrapped is not unwrapped again: two routes could do so for ever.
    """
    if route.bucket not in {None, bucket}:
        return False
    if not route.unwrap:
        return route.takes(event_type, key)
    address = S3Address(bucket, key).s3
    unwrapped = any(address.startswith(other.unwrap) for other in config.routes if other.unwrap)
    return not unwrapped and route.takes(event_type, key)
