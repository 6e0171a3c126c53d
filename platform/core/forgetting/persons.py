"""The persons that a row of silver names, as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.platform.core.forgetting.rescued_texts import rescued_texts
from tidegate.platform.core.schema.column_reference import quote_path
from tidegate.platform.core.schema.column_types import quoted

#: The persons of a row that names nobody.
NOBODY = "CAST(array() AS array<string>)"


@dataclass(frozen=True)
class Persons:
    """Where a row of silver names its persons.

    Attributes:
        paths: columns and nested fields with an identity.
        rescued: columns that may have rescued values, each with the name of an identity in them.
    """

    paths: tuple[tuple[str, ...], ...]
    rescued: tuple[tuple[str, str], ...] = ()

    def sql(self, side: str = "") -> str:
        """Returns SQL of the identities of a row: an array of texts.

        Args:
            side: of the row, such as `s.`.
        """
        texts = [f"CAST({side}{quote_path(path)} AS STRING)" for path in self.paths]
        for column, name in self.rescued:
            texts += rescued_texts(f"{side}{quoted(column)}", name)
        return f"array_compact(CAST(array({', '.join(texts)}) AS array<string>))"
