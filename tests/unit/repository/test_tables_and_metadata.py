"""The pages of tables and of metadata have what the code has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import sqlglot

from tests.support.tracked import ROOT
from tidegate.assets.silver.report import MARK
from tidegate.platform.core.bronze.ledger import COLUMNS, Status
from tidegate.platform.core.config.silver_columns import JOINED, KEY, LEFT, ORDER, SILVER_COLUMNS
from tidegate.platform.core.events.row_queue import ROW_COLUMNS
from tidegate.platform.core.schema.names import RESCUED_COLUMN, SOURCE_COLUMNS
from tidegate.platform.lake import lake_views

REFERENCE = ROOT / "docs" / "reference"


def section(page: str, heading: str) -> str:
    """Return the text below a heading, up to the next heading."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", (REFERENCE / page).read_text(), re.M | re.S)
    assert found, f"docs/reference/{page} has no section {heading}"
    return found[1]


def names(text: str) -> list[str]:
    """Return the names in the first cells of all tables."""
    cells = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize(
    ("heading", "columns"),
    [
        ("`bronze.<name>`", [*SOURCE_COLUMNS, *ROW_COLUMNS, RESCUED_COLUMN]),
        ("`silver.<name>_with_tombstones`", [*SILVER_COLUMNS, KEY, ORDER, JOINED, LEFT]),
        ("`lake.intake`", sqlglot.parse_one(lake_views._INTAKE, read="spark").named_selects),  # type: ignore[attr-defined]
        ("`lake.quarantine`", sqlglot.parse_one(lake_views.quarantine_query([]), read="spark").named_selects),  # type: ignore[attr-defined]
        ("`lake.forgotten`", sqlglot.parse_one(lake_views.FORGOTTEN_QUERY, read="spark").named_selects),  # type: ignore[attr-defined]
    ],
)
def test_the_columns_of_a_table_are_on_its_page(heading: str, columns: list[str]) -> None:
    assert names(section("tables.md", heading)) == columns


def test_the_columns_and_states_of_a_ledger_are_on_its_page() -> None:
    text = section("tables.md", "`ledger.<name>`")
    columns = dict(re.findall(r"^\| `(\w+)` \| (string|bigint|int|timestamp) \|", text, re.MULTILINE))
    assert columns == {name: kind.lower() for name, kind in COLUMNS.items()}
    assert set(names(text)) - columns.keys() == {str(status) for status in Status}


def keys_of(path: str, *functions: str) -> set[str]:
    """Return the names of metadata that functions write: keys of dictionaries and of assignments."""
    tree = ast.parse((ROOT / path).read_text())
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in functions]
    assert {node.name for node in bodies} == set(functions)
    keys = [
        key
        for body in bodies
        for node in ast.walk(body)
        for key in (
            node.keys if isinstance(node, ast.Dict) else [node.slice] if isinstance(node, ast.Subscript) else []
        )
    ]
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


VOLUME = {"files", "rows", "bytes", "oldest_event_age_seconds"}


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        (
            "Bronze: `bronze` by partition, and the page `bronze/<name>` of a configured table",
            VOLUME
            | {"dagster/partition_row_count", "dagster/row_count"}
            | keys_of("assets/bronze/report.py", "metadata", "summary", "_late_metadata", "_table"),
        ),
        (
            "Silver: `silver/<name>`",
            VOLUME
            | keys_of("assets/silver/report.py", "columns_metadata", "merge_metadata", "table_metadata")
            | keys_of("platform/silver/expect/collapsed_rows.py", "metadata")
            | {MARK},
        ),
        ("Health: `lake_health`", keys_of("assets/health/report.py", "metadata")),
        ("Routes: `routes/<name>`", keys_of("assets/routes/report.py", "metadata")),
    ],
)
def test_the_metadata_of_an_asset_are_on_the_page(heading: str, expected: set[str]) -> None:
    assert set(names(section("metadata.md", heading))) == expected


def test_volume_has_the_names_that_the_page_says() -> None:
    assert keys_of("platform/core/bronze/volume.py", "volume_metadata") == {"files", "rows", "bytes"}


def test_every_check_and_every_run_tag_is_on_the_page() -> None:
    sources = [
        path.read_text() for folder in ("assets", "sensors", "platform") for path in Path(ROOT / folder).rglob("*.py")
    ]
    checks = {name for source in sources for name in re.findall(r'^(?:\w+_)?CHECK = "(\w+)"', source, re.MULTILINE)}
    listed = re.findall(r"^\|[^|]*\| `(\w+)` \|", section("metadata.md", "Checks"), re.MULTILINE)
    assert set(listed) == checks
    tags = {tag for source in sources for tag in re.findall(r'^\w+_TAG = "(tidegate/[\w-]+)"', source, re.MULTILINE)}
    assert set(names(section("metadata.md", "Tags of runs"))) == tags
