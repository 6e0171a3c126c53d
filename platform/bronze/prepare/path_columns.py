"""Columns that are both in a Parquet file and in its path."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.core.files.parquet.footer import Footer
from tidegate.platform.core.schema.column_types import folded
from tidegate.platform.core.schema.misfit import Misfit


def check_both(footer: Footer, path: Mapping[str, str | None]) -> None:
    """Refuse a file if one of its columns may have another value than the file's path.

    Readers of a Delta table use the path's value and never read the file's value.

    Raises:
        Misfit: the file's statistics do not prove that both values are equal.
    """
    for name, value in path.items():
        if any(folded(field.name) == folded(name) for field in footer.fields) and footer.always(name) != value:
            raise Misfit(
                f"column {name} is in the file and in its path ({name}={value}), and the file's statistics do not "
                "prove that both say the same; leave it out of the file"
            )
