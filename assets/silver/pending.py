"""What a silver table has not merged yet: bronze's batches between its mark and the ledger's last n."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.platform.core.config.table import SilverSpec, TableSpec
from tidegate.resources.lake import Lake, Table
from tidegate.resources.spark.delta import TableState

#: What an operator sets on a bronze table that somebody else changed, once that is meant.
_ACKNOWLEDGED = "tidegate.acknowledged_version"


class BronzeGone(RuntimeError):
    """There is no bronze table, though its ledger has batches."""


@dataclass(frozen=True)
class Pending:
    """The work of one merge.

    Attributes:
        mark: last batch that silver holds; None when it holds none of this bronze table and generation.
        n: the ledger's last batch: how far this merge goes.
        recorded: the ledger's Delta version that says so.
        app_id: of silver's txn; it holds the bronze table's id and generation, so another table starts anew.
    """

    table: Table
    spec: SilverSpec
    location: str
    bronze: TableState
    silver: TableState
    mark: int | None
    n: int
    recorded: int
    app_id: str


def pending(lake: Lake, spec: TableSpec) -> Pending | None:
    """What there is to merge; None if silver holds everything that the ledger has recorded.

    It goes up to the ledger's last n, never up to the table's version, for the ledger follows the commit.

    Raises:
        ValueError: the table has no silver specification.
        BronzeGone: there is no bronze table, though its ledger has batches.
    """
    if spec.silver is None:
        raise ValueError(f"table {spec.name} has no `silver` in lake.yaml")
    table = lake.table(spec.table_key.encode())
    if table.birth is None:
        return None
    version, n = table.ledger.clock()
    if n == 0:
        return None
    bronze = lake.delta.table_state(table.birth.location)
    if not bronze.exists:
        header = table.ledger.header(version, n)
        if header is None or header.bronze_version < 0:
            return None  # every file so far was refused
        raise BronzeGone(
            f"bronze.{table.birth.name} at {table.birth.location} is gone, though its ledger has {n} batches: restore "
            "its log, or begin anew as bronze's own refusal says; silver is left as it is"
        )
    location = lake.store.uri("silver", spec.name)
    app_id = f"tidegate:{lake.id}:silver:{spec.name}:{bronze.table_id}:{table.birth.generation}"
    if acknowledged := bronze.properties.get(_ACKNOWLEDGED):
        app_id += f":{acknowledged}"  # after a RESTORE it holds other rows under the same id
    silver = lake.delta.table_state(location, app_id)
    mark = silver.txn
    if mark is not None and mark >= n:
        return None
    return Pending(table, spec.silver, location, bronze, silver, mark, n, version, app_id)
