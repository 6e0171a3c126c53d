"""What the digits of a number's text show."""

from __future__ import annotations

import decimal
import math
import re
import struct
from typing import Literal


def keeps(text: str, kind: Literal["double", "float"] = "double") -> bool:
    """Return whether a number is the double, or float, that is made of it; `Digits` of platform/jvm says when it is.

    Args:
        text: a number in ASCII digits, perhaps with a sign, a point and an exponent.
        kind: the type.
    """
    try:
        said = decimal.Decimal(text)
    except decimal.InvalidOperation:  # its exponent has 19 digits or more
        return not re.search("[1-9]", re.split("[eE]", text)[0])
    made = float(text)
    if kind == "float":
        made = struct.unpack("f", struct.pack("f", made))[0]
    if not said or not math.isfinite(made):
        return not said
    if decimal.Decimal(repr(made)) == said and kind == "double":
        return True
    digits = len("".join(map(str, said.as_tuple().digits)).strip("0"))
    return decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_UP).create_decimal(made) == said
