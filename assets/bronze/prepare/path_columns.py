"""Columns that are in a Parquet file and in its path."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.core.files.parquet.footer import Footer
from tidegate.platform.core.schema.misfit import Misfit


def check_both(footer: Footer, path: Mapping[str, str | None]) -> None:
    """Refuse a file whose own column may say something else than its path.

    Readers of a Delta table take the path's value and never look at the file's.

    Raises:
        Misfit: the file's statistics do not prove that both say the same.
    """
    for name, value in path.items():
        if any(field.name.lower() == name.lower() for field in footer.fields) and footer.always(name) != value:
            raise Misfit(
                f"column {name} is in the file and in its path ({name}={value}), and the file's statistics do not "
                "prove that both say the same; leave it out of the file"
            )
