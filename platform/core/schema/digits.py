"""What the digits of a number's text show."""

from __future__ import annotations

import decimal
import math
import re
import struct
from typing import Literal

#: Characters of the longest double, written out. `Digits` of platform/jvm has the same.
MAX_LENGTH = 1_100
#: An exponent of more than nine digits may be too large for a decimal. No zeros are counted before its first digit.
_EXPONENT = re.compile("[eE][+-]?0*+([0-9]*+)", re.ASCII)
_MAX_EXPONENT_DIGITS = 9


def parse_exact(text: str) -> decimal.Decimal | None:
    """Return the decimal of a text, to be compared. Written out, it may have very many zeros.

    Args:
        text: a number in ASCII digits, perhaps with a sign, a point and an exponent.

    Returns:
        None if it has more than `MAX_LENGTH` characters, or an exponent of more than nine digits: such a number is not
        a double, or it is 0.
    """
    exponent = _EXPONENT.search(text)
    if len(text) > MAX_LENGTH or (exponent and len(exponent[1]) > _MAX_EXPONENT_DIGITS):
        return None
    return decimal.Decimal(text)


def keeps(text: str, kind: Literal["double", "float"] = "double") -> bool:
    """Return whether a number is the double, or float, that is made of it; `Digits` of platform/jvm says when it is.

    Args:
        text: a number in ASCII digits, perhaps with a sign, a point and an exponent.
        kind: the type.
    """
    made = float(text)
    said = parse_exact(text)
    if said is None:
        return not re.search("[1-9]", re.split("[eE]", text)[0])
    if kind == "float":
        made = struct.unpack("f", struct.pack("f", made))[0]
    if not said or not math.isfinite(made):
        return not said
    if parse_exact(repr(made)) == said and kind == "double":
        return True
    digits = len("".join(map(str, said.as_tuple().digits)).strip("0"))
    return decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_UP).create_decimal(made) == said
