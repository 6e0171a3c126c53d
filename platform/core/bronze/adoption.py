"""Which tables of others a lake can adopt: what keeps it from that, with the remedy, and what stays as it is.

A registered table takes its producer's files as they are, and reads no row of them. So whatever Delta promises about
rows of a table, and whatever gives a column another name in files, would be broken silently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tidegate.platform.core.schema.column_types import quote_name

#: Features that Delta can take from a table, of those that Tidegate's commits do not serve.
_REMOVABLE = frozenset({"catalogManaged", "coordinatedCommits-preview", "materializePartitionColumns"})
_AGAIN = "write the table again without it (CREATE TABLE … AS SELECT), and adopt that table"
_RETENTION = "delta.setTransactionRetentionDuration"
_CONSTRAINT = "delta.constraints."
_MODE, _PHYSICAL = "delta.columnMapping.mode", "delta.columnMapping.physicalName"
#: Metadata of a column whose values Delta computes or checks when it writes them.
_COMPUTED = {
    "delta.generationExpression": "is generated",
    "delta.identity.start": "is an identity column",
    "delta.invariants": "has an invariant",
    "__CHAR_VARCHAR_TYPE_STRING": "is a CHAR or VARCHAR",
}
#: What some features mean afterwards.
_KEPT = {
    "changeDataFeed": "the change data feed continues: a new file is inserted rows, a removed file deleted ones",
    "clustering": "new files are not clustered, and nothing clusters them",
    "deletionVectors": "rows that a deletion vector hides stay hidden",
    "inCommitTimestamp": "commits still have their own times",
    "rowTracking": "new rows get ids, too",
    "v2Checkpoint": "checkpoints keep this form",
}


def adoption_refusals(
    table: str,
    features: Collection[str],
    served: Collection[str],
    properties: Mapping[str, str],
    schema: Mapping[str, Any],
) -> list[str]:
    """Return why a table cannot become a registered table, a sentence with the remedy for each reason.

    Args:
        table: as SQL names it, for the remedies.
        features: of its protocol.
        served: features that Tidegate's commits serve.
        properties: of the table.
        schema: Spark's JSON of its columns, as the log has it.
    """
    found = []
    for feature in sorted(set(features) - set(served)):
        way = f"ALTER TABLE {table} DROP FEATURE '{feature}'" if feature in _REMOVABLE else _AGAIN
        found.append(f"it has the table feature {feature}, whose rules Tidegate's commits do not serve: {way}")
    if properties.get(_RETENTION):
        found.append(
            f"its record of transactions expires, so a batch could land twice: ALTER TABLE {table} UNSET "
            f"TBLPROPERTIES ('{_RETENTION}')"
        )
    for name in sorted(name.removeprefix(_CONSTRAINT) for name in properties if name.startswith(_CONSTRAINT)):
        found.append(
            f"its constraint {name} would not be checked, because files are registered unread: ALTER TABLE {table} "
            f"DROP CONSTRAINT {quote_name(name)}"
        )
    if properties.get(_MODE, "none") == "id":
        found.append(f"it finds columns by ids in files, which a producer's files do not have: {_unmap(table)}")
    return [*found, *_column_refusals(table, schema)]


def kept_lines(features: Collection[str], properties: Mapping[str, str]) -> list[str]:
    """Return what stays as it is, a line for each feature or property that means something afterwards."""
    enabled = {
        "changeDataFeed": properties.get("delta.enableChangeDataFeed") == "true",
        "deletionVectors": properties.get("delta.enableDeletionVectors") == "true",
        "inCommitTimestamp": properties.get("delta.enableInCommitTimestamps") == "true",
        "rowTracking": properties.get("delta.enableRowTracking") == "true",
    }
    lines = [f"{name}: {text}" for name, text in _KEPT.items() if name in features and enabled.get(name, True)]
    if properties.get("delta.appendOnly") == "true":
        lines.append("delta.appendOnly: a file that is removed or overwritten stops the table until it is unset")
    own = sorted(name for name in properties if not name.startswith(("delta.", "tidegate.")))
    return [*lines, *(f"property {name}" for name in own)]


def _column_refusals(table: str, schema: Mapping[str, Any]) -> Iterator[str]:
    for path, field in _fields(schema, ()):
        column, metadata = ".".join(path), field.get("metadata", {})
        named = ".".join(map(quote_name, path))
        if not field.get("nullable", True):
            yield (
                f"column {column} is NOT NULL, which nobody would check: ALTER TABLE {table} ALTER COLUMN {named} "
                "DROP NOT NULL"
            )
        if field.get("never_null"):
            yield f"values within {column} are never NULL, which nobody would check: {_AGAIN}"
        if metadata.get(_PHYSICAL, field["name"]) != field["name"]:
            yield f"column {column} is {metadata[_PHYSICAL]} in data files, unlike in a producer's: {_unmap(table)}"
        for name, text in _COMPUTED.items():
            if name in metadata:
                yield f"column {column} {text}, which a registered file does not obey: {_AGAIN}"


def _fields(schema: Any, above: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield the fields of a type at every depth, with their paths."""
    match schema:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                path = (*above, field["name"])
                yield path, field
                yield from _fields(field["type"], path)
        case {"type": "array", "elementType": element, "containsNull": nullable}:
            yield (*above, "element"), {"name": "element", "never_null": not nullable}
            yield from _fields(element, (*above, "element"))
        case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nullable}:
            yield (*above, "value"), {"name": "value", "never_null": not nullable}
            yield from _fields(key, (*above, "key"))
            yield from _fields(value, (*above, "value"))


def _unmap(table: str) -> str:
    return f"ALTER TABLE {table} SET TBLPROPERTIES ('{_MODE}' = 'none'), which writes its files again"
