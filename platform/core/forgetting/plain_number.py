"""The one plain spelling of a number. `PlainNumber` of platform/jvm does the same."""

from __future__ import annotations

import re

#: A number has so many digits at most: a short text such as 1e999999999 has no end.
MAX_DIGITS = 1_000
_MAX_EXPONENT_DIGITS = 9
_NUMBER = re.compile(
    r"([+-]?)(?=[.,]?[0-9])([0-9]*+)(?:[.,]([0-9]*+))?(?:[eE]([+-]?)0*+([0-9]*+))?+(?<=[0-9.,])", re.ASCII
)


def plain_number(text: str) -> str | None:
    """Return the plain spelling of a number of JSON or CSV: 42, as Spark writes it, is that of 42.0 and 4.2e001.

    Returns None for another text, and for a number of too many digits.
    """
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    sign, whole, fraction, minus, exponent = (group or "" for group in found.groups())
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return "0"
    if len(exponent) > _MAX_EXPONENT_DIGITS:
        return None
    shift = int(f"{minus}{exponent or 0}") - len(fraction) + len(digits) - len(kept)
    if len(kept) + abs(shift) > MAX_DIGITS:
        return None
    if shift >= 0:
        plain = kept + "0" * shift
    else:
        padded = kept.rjust(1 - shift, "0")
        plain = f"{padded[:shift]}.{padded[shift:]}"
    return f"-{plain}" if sign == "-" else plain
