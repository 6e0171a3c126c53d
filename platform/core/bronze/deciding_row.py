"""SQL of the decision that says of a key whether its object is in quarantine."""

from __future__ import annotations

#: The rows of decisions that count. A duplicate with a reason is a further event, perhaps of an object that is gone.
COUNTS = "kind = 'row' AND (status <> 'duplicate' OR reason IS NULL)"
_PLACE = "struct(n, position)"


def deciding(value: str, over: str = "") -> str:
    """Returns SQL of a value of the row of a ledger that decides a key: an aggregate over the key's rows of `COUNTS`.

    It is the last row that is no duplicate. But an object that was removed, and put again with the bytes that are in
    the table, is a duplicate of their reading: then that reading decides, whose bad rows are in quarantine as before.

    Args:
        value: SQL over a row.
        over: makes each aggregate one over a window, such as ` OVER (PARTITION BY key)`.
    """

    def last(wanted: str, condition: str) -> str:
        return f"(max_by(if({condition}, {wanted}, NULL), if({condition}, {_PLACE}, NULL)){over})"

    state = last(f"struct(status, {value} AS value)", "status <> 'duplicate'")
    reading = last(f"struct(etag, {value} AS value)", "status = 'committed'")
    newest = last("struct(status, etag)", "true")
    is_back = f"{state}.status = 'removed' AND {newest}.status = 'duplicate' AND {newest}.etag = {reading}.etag"
    return f"if(coalesce({is_back}, false), {reading}.value, {state}.value)"
