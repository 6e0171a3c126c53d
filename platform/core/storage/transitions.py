"""The transitions between storage classes that a lifecycle rule can make.

The source is "Supported transitions" in AWS's "Transitioning objects using Amazon S3 Lifecycle", of the S3 User Guide.
It calls the order a waterfall, with one gap: ONEZONE_IA does not lead to GLACIER_IR.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

#: All classes that a rule can move objects into.
Target = Literal["STANDARD_IA", "GLACIER_IR", "INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER", "DEEP_ARCHIVE"]
TARGETS: tuple[Target, ...] = get_args(Target)
#: The classes that a rule can move objects of a class into.
TRANSITIONS: Mapping[str, frozenset[str]] = {
    "STANDARD": frozenset(TARGETS),
    "STANDARD_IA": frozenset({"INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"}),
    "INTELLIGENT_TIERING": frozenset({"ONEZONE_IA", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"}),
    "ONEZONE_IA": frozenset({"GLACIER", "DEEP_ARCHIVE"}),
    "GLACIER_IR": frozenset({"GLACIER", "DEEP_ARCHIVE"}),
    "GLACIER": frozenset({"DEEP_ARCHIVE"}),
}
#: A rule moves only objects into these that are at least 30 days old, or noncurrent for as long.
AFTER_30_DAYS = ("STANDARD_IA", "ONEZONE_IA")
