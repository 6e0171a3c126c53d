"""What the reports read: the objects in a table of inventories, and prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from pyspark.sql import DataFrame

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.cost import StoredSum
from tidegate.platform.core.storage.price_list import read_price_lists
from tidegate.platform.core.storage.prices import StoragePrices
from tidegate.platform.lake.inventory.objects import inventory_objects
from tidegate.platform.lake.inventory.sums import TooManyGroups, stored_sums
from tidegate.platform.lake.lake import Lake, Table


def stored_objects(lake: Lake, table_key: str, configuration: str = "") -> DataFrame:
    """Return the rows of a table of inventories.

    Args:
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.

    Raises:
        InventoryError: it is not such a table, has nothing yet, or has a bucket twice; or no bucket has the
            configuration.
    """
    _, birth = with_inventories(lake, table_key)
    return inventory_objects(lake.delta.session, birth.location, configuration)


def with_inventories(lake: Lake, table_key: str) -> tuple[Table, Birth]:
    """Return a table of inventories and its birth.

    Raises:
        InventoryError: it is not such a table, or has nothing yet.
    """
    table = lake.table(table_key)
    birth = table.birth
    if not table.spec.has_inventories or birth is None or not table.delta.table_state(birth.location).exists:
        raise InventoryError(f"{table.spec.name} has no inventories yet, or is not a table with `mode: inventory`")
    return table, birth


def sums_of_all(objects: DataFrame, by: Sequence[str], depth: int) -> tuple[list[StoredSum], bool]:
    """Return the sums of all objects, and whether the prefixes of a bucket are groups of their own.

    Args:
        objects: rows of the table of inventories.
        by: dimensions of the sums.
        depth: number of folders of a prefix. If that makes too many groups, all prefixes of a bucket are one.
    """
    try:
        return stored_sums(objects, by, depth), True
    except TooManyGroups:
        return stored_sums(objects, by, 0), False


def folder_of(lake_yaml: str) -> Path:
    """Return the folder to which the paths of price lists in `lake.yaml` are relative."""
    return Path(lake_yaml).resolve().parent


def read_prices(paths: Iterable[Path]) -> StoragePrices:
    """Read AWS's price lists.

    Args:
        paths: CSV files of one region.

    Raises:
        BadSetting: a file cannot be read, or is not a price list. The message says what to do.
    """
    with ExitStack() as stack:
        try:
            files = {str(path): stack.enter_context(path.open(encoding="utf-8-sig", newline="")) for path in paths}
        except OSError as error:
            raise BadSetting(
                f"the price list {error.filename} cannot be read: {error.strerror}. docs/guides/storage.md shows how "
                "to get AWS's list of your region"
            ) from None
        return read_price_lists(files)
