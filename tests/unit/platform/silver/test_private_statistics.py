"""Which columns of silver have no statistics, because they say something of a person."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.config.personal import PersonalSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_statistics import STATISTICS
from tidegate.platform.core.schema.column_types import Field, Simple
from tidegate.platform.silver.private_statistics import private_statistics

COLUMNS = [Field("id", Simple("long")), Field("mail", Simple("string"))]
NONE = {"delta.dataSkippingNumIndexedCols": "0"}
SOME = {STATISTICS: "`id`"}


@pytest.mark.parametrize(
    ("personal", "silver", "written"),
    [
        ("mail", {}, SOME),
        ("after.mail", {"from": "debezium"}, SOME),
        ("after", {"from": "debezium"}, NONE),
        ("payload.after", {"from": "debezium"}, NONE),
        ("after.mail", {"row": "coalesce(after, before)"}, SOME),
        ("after", {"row": "coalesce(after, before)"}, NONE),
        ("data", {"row": "data.after"}, NONE),
        ("after.contact", {"row": "struct(after.id, after.contact AS mail)"}, NONE),
        ("who", {"rename": {"_rescued_data": "mail"}}, SOME),
    ],
)
def test_no_column_has_them_if_its_name_does_not_show_what_it_has(
    personal: str, silver: dict[str, Any], written: dict[str, str]
) -> None:
    spec: Any = type("Spec", (), {})()
    spec.personal = PersonalSpec(columns=(personal,))
    spec.silver = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 9, **silver})
    assert private_statistics(spec, COLUMNS) == written
