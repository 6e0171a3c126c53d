"""Why rows cannot be merged into a silver table by the options of today: those of its rows were others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import KEY, LEFT, ORDER, VALID_FROM, VALID_TO
from tidegate.platform.core.schema.column_types import Type, fold_name, grows
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.recorded_options import OPTIONS, REBUILDING, ChangedOption, changed_options
from tidegate.platform.core.silver.rules import MergeRules

#: Options that decide the value of a column, and so its type.
_SHAPING = ("rename", "cast", "decode", "derive")
#: Those that may give a column another value of its type.
_VALUES = ("rename", "decode", "derive")
#: How rows were derived, as a silver table records it: the end of the property, and the options that it follows from.
_RECORDED: Mapping[str, Sequence[str]] = {
    "_stored_as": ("stored_as", "order", "from"),
    "_track_history": ("track_history_columns", "track_history_except_columns"),
    KEY: ("keys",),
    ORDER: ("order", "from", "row", "apply_as_truncates", "columns", "except_columns", *_SHAPING),
}
#: Options by which a change may leave values as they are.
_VALUE_LEAVING_OPTIONS = (
    "from",
    "ignore_null_updates",
    "ignore_null_updates_columns",
    "ignore_null_updates_except_columns",
    "unavailable",
)
_OTHER_CAUSE = "bronze was reset since, or somebody changed the type in silver"
_INCOMPARABLE_ROWS = "and the rows of silver do not compare with new rows any more"
_WAY_OUT = "or give the table another `name` in lake.yaml, and a new silver table is merged"

#: A literal, a quoted name, a word or a number, or another character. The end of the text ends a literal, too.
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.?)*+'?|"(?:[^"\\]|\\.?)*+"?|`(?P<name>[^`]*)`|(?P<word>\w+)|\S""", re.DOTALL)


def refusal(
    name: str,
    spec: SilverSpec,
    rules: MergeRules,
    properties: Mapping[str, str],
    schema: TableSchema,
    *,
    widens: bool,
    is_rebuild: bool = False,
) -> str | None:
    """Return why no row is merged into a silver table, and what to do. None if rows can be merged.

    Args:
        name: of the table, without `silver.`.
        spec: its options as in `lake.yaml`.
        rules: what they make of a row of bronze.
        properties: of the silver table, which record how its rows were made.
        schema: its columns.
        widens: whether a column may get a wider type.
        is_rebuild: every row is computed from bronze again, so none of those that are there has to compare.
    """
    rebuild = f"`tidegate rebuild silver.{name} --yes`"
    if REBUILDING in properties and not is_rebuild:
        return (
            "a rebuild by other options of `silver` has begun and is not recorded as ended, so its rows may be by "
            f"either. Wait for it, or run {rebuild} again"
        )
    changed = changed_options(properties.get(OPTIONS), spec)
    if why := _semantic_change_reason(spec, rules, properties, changed):
        if not _has_same_places(rules, schema):
            return f"{why}. Change it back, {_WAY_OUT}"
        if not is_rebuild:
            return f"{why}. Change it back, or run {rebuild}, which computes all of them again"
    if rules.history and rules.history.leaves_values != (schema.find_column(LEFT) is not None):
        causes = _select_changed(_VALUE_LEAVING_OPTIONS, changed)
        # Without a record, a table that has the column and needs it no more was merged like that before.
        if rules.history.leaves_values or causes:
            why = _format_causes(causes, f"one of {', '.join(_VALUE_LEAVING_OPTIONS)} of `silver` in lake.yaml is new")
            return f"{why}. Change it back, {_WAY_OUT}"
    for column, ours, theirs in schema.type_changes(rules.stored):
        if not (widens and grows(ours, theirs) and "[]" not in column):
            return _column_change_reason(spec, changed, column, ours, theirs)
    return None


def _semantic_change_reason(
    spec: SilverSpec, rules: MergeRules, properties: Mapping[str, str], changed: Sequence[ChangedOption]
) -> str | None:
    """Return why key, order or values of the rows that are there mean something else than those of new rows."""
    if causes := [option for option in changed if _changes_meaning(spec, option)]:
        return _format_causes(causes, "")
    for own, options in _RECORDED.items():
        before, now = properties.get(f"tidegate.silver{own}"), rules.recorded.get(f"tidegate.silver{own}")
        if not are_alike(before or "", now or ""):
            return _format_causes(
                _select_changed(options, changed), _describe_unrecorded_change(own, before, now, options)
            )
    return None


def _changes_meaning(spec: SilverSpec, option: ChangedOption) -> bool:
    """Return whether rows have another key, order or row by an option, although their types are the same."""
    match option.name:
        case "keys":
            # Their order does not count.
            before, now = ({*map(tokens, keys)} for keys in (option.before, option.now))
            return before != now
        case "order" | "row":
            first, then = (_to_list(value) for value in (option.before, option.now))
            return len(first) != len(then) or not all(map(are_alike, first, then))
    return option.name in _VALUES and any(option.concerns(key) for key in spec.keys)


def _to_list(value: str | Sequence[str] | None) -> Sequence[str]:
    return [value] if isinstance(value, str) else value or []


def _has_same_places(rules: MergeRules, schema: TableSchema) -> bool:
    """Return whether silver has key, order and times where the rules have them, and with the same fields."""
    ours, theirs = ({field.name: field.type for field in fields} for fields in (schema.fields, rules.stored))
    return all(ours.get(own) == theirs.get(own) for own in (KEY, ORDER, VALID_FROM))


def _select_changed(options: Sequence[str], changed: Sequence[ChangedOption]) -> list[ChangedOption]:
    return [option for option in changed if option.name in options]


def _describe_unrecorded_change(own: str, before: str | None, now: str | None, options: Sequence[str]) -> str:
    """Return what has changed of a table that an older version made, which does not record its options."""
    ways = " to ".join(text or "what the columns show" for text in (before, now))
    return (
        f"{own.strip('_')} has changed from {ways}, by {', '.join(f'`{option}`' for option in options)} of `silver` in "
        "lake.yaml or by new columns of bronze"
    )


def _format_causes(causes: Sequence[ChangedOption], otherwise: str) -> str:
    return f"{'; '.join(map(str, causes)) or otherwise}, {_INCOMPARABLE_ROWS}"


def _column_change_reason(
    spec: SilverSpec, changed: Sequence[ChangedOption], name: str, ours: Type, theirs: Type
) -> str:
    of_order = fold_name(name).startswith((VALID_FROM, VALID_TO, ORDER))
    of_row = ("row", "from", *(("order",) if of_order else ()))
    causes = [option for option in changed if option.concerns(name) or option.name in of_row]
    shaped = {"rename": spec.rename.values(), "cast": spec.cast, "decode": spec.decode, "derive": spec.derive}
    shaping = [option for option in _SHAPING if any(fold_name(name) == fold_name(entry) for entry in shaped[option])]
    if causes:
        why = f"by lake.yaml: {'; '.join(map(str, causes))}"
    elif shaping:
        why = f"by `{shaping[0]}` of `silver` in lake.yaml: it has changed, {_OTHER_CAUSE}"
    else:
        why = f"in bronze: {_OTHER_CAUSE}"
    return (
        f"column {name} is {ours.sql()}, and {theirs.sql()} {why}. Values would change on their way: change it back, "
        f"{_WAY_OUT}"
    )


def are_alike(left: str, right: str) -> bool:
    """Return whether two SQL texts differ in nothing but case, spaces and quotes around names. Literals count."""
    return tokens(left) == tokens(right)


def tokens(text: str) -> tuple[str, ...]:
    """Return the parts of a SQL text. Names are in lower case, without quotes."""
    return tuple(fold_name(found["name"] or found["word"] or "") or found[0] for found in _TOKEN.finditer(text))
