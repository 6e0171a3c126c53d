"""Check of the Glue Data Catalog: the entries of the tables, and the permissions to write them."""

from __future__ import annotations

from functools import partial
from typing import Any

from tidegate.platform.catalog import sync_catalog
from tidegate.platform.cli.check.findings import Failed, Finding, Warned, make_finding, try_call
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.core.config.lake import CatalogSpec
from tidegate.platform.lake.lake import Lake

#: A name that no table has: calls about it change nothing.
_NO_TABLE = "tidegate_check_no_such_table"


def check_glue(lake: Lake, spec: CatalogSpec, client: Any) -> list[Finding]:
    """Check the permissions on each database, and that the entries are in step with the tables.

    Args:
        lake: the lake, which has `catalog`.
        spec: the databases.
        client: a client of Glue.
    """
    named = ", ".join(filter(None, (spec.bronze, spec.silver)))
    return [
        *(
            make_finding(Check.CATALOG_WRITE, database, partial(_check_writable, client, database))
            for database in (spec.bronze, spec.silver)
            if database
        ),
        make_finding(Check.CATALOG_STEP, named, lambda: _check_in_step(lake)),
    ]


def _check_writable(client: Any, database: str) -> str:
    try_call("glue:DeleteTable", f"table/{database}/*", client.delete_table, DatabaseName=database, Name=_NO_TABLE)
    try_call(
        "glue:UpdateTable",
        f"table/{database}/*",
        client.update_table,
        DatabaseName=database,
        TableInput={"Name": _NO_TABLE},
    )
    return "entries can be updated and deleted"


def _check_in_step(lake: Lake) -> str:
    found = sync_catalog(lake, dry_run=True)
    if found.failed:
        raise Failed(str(found.failed[0]))
    if found.changes:
        raise Warned(
            f"{len(found.changes)} differ: {found.changes[0]}. `tidegate catalog sync` shows all of them, and with "
            "--yes writes"
        )
    return f"{found.entries} entries"
