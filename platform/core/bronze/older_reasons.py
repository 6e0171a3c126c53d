"""Reads the facts that older versions wrote into reasons, and for which ledgers have columns today."""

from __future__ import annotations

import re

#: Where a reason names the folder of the bad rows. SQL uses this pattern too.
FOLDER_IN_REASON = "; see (s3a://.*/[0-9]{20}-[0-9A-HJKMNP-TV-Z]{26})"

# The last match: an earlier one can be a text of a producer's row, which the reason quotes.
_LAST_FOLDER = re.compile(f"(?P<before>.*){FOLDER_IN_REASON.replace('(', '(?P<folder>', 1)}", re.DOTALL)
_OVERWRITTEN = "overwritten: "


def is_overwritten(reason: str | None) -> bool:
    """Return whether the reason is that of an overwritten write-once key."""
    return (reason or "").startswith(_OVERWRITTEN)


def bad_rows_folder(reason: str | None) -> str | None:
    """Return the `s3a://` URI of the folder that the reason names. None if it names none."""
    match = _LAST_FOLDER.match(reason or "")
    return match["folder"] if match else None


def without_folder(reason: str) -> str:
    """Return the reason without the folder, if it names one."""
    match = _LAST_FOLDER.match(reason)
    return match["before"] + reason[match.end() :] if match else reason
