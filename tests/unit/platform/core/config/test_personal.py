"""`personal` of a table in lake.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.config.table import TableSpec

LAKE = """\
lake: {root: "s3://lake/x"}
queues: [{name: events}]
buckets: [landing]
tables:
  - name: t
    prefix: s3://landing/t/
"""


def _table(tmp_path: Path, text: str) -> TableSpec:
    path = tmp_path / "lake.yaml"
    path.write_text(LAKE + text)
    return load_lake(path, {}).tables[0]


def test_columns_and_nested_fields_are_compared_without_case(tmp_path: Path) -> None:
    spec = _table(tmp_path, "    personal: {columns: [Name, Contact.Mail]}\n")
    assert spec.unmeasured_columns == {"name", "contact.mail"}
    assert _table(tmp_path, "").unmeasured_columns == frozenset()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("    personal: {columns: []}\n", "columns"),
        ("    personal: {columns: [name, NAME]}\n", "NAME, name is named twice"),
        ('    personal: {columns: ["lower(name)"]}\n', "is an expression; name a column"),
        (
            "    partition_columns: {name: string}\n    personal: {columns: [Name]}\n",
            "name is in `partition_columns`: its values are in the keys of the files",
        ),
        (
            "    format: json\n    mode: repartition\n    output: {folder: s3://out/a/}\n"
            "    personal: {columns: [a]}\n",
            "`personal` is about the columns of a table, and there is no table",
        ),
    ],
)
@pytest.mark.limit(
    "Personal data",
    "A personal column is a column or a field of bronze: no expression, and no column of the path, whose "
    "values are in the keys of the files.",
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(LakeConfigError) as caught:
        _table(tmp_path, text)
    assert problem in str(caught.value)
