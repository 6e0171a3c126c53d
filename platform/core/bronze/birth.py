"""The birth record of a table."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.platform.core.keys.file_format import Mode, OutputMode


@dataclass(frozen=True)
class Birth:
    """The choices fixed when a table is first written. Only a reset or an adoption replaces them.

    Attributes:
        generation: UUID. A rebuild keeps it.
        location: `s3a://` URI of the bronze table.
        name: SQL name in the schema `bronze`.
        registered: whether the table registers its source files instead of loading their rows.
        generation_folder: folder of its batches and its ledger, under `batches/` and `ledger/`. If empty, the table key
            is the folder.
        after_version: Delta version of the reset, or before the adoption, that began this generation. -1 if none did.
        output: the mode in which its rows become objects of an output. Then there is no Delta table, and its objects
            are staged at the location. None for a table.
        adopted: whether others made the table. Then no reset starts it over.
    """

    generation: str
    location: str
    name: str
    registered: bool
    generation_folder: str = ""
    after_version: int = -1
    output: OutputMode | None = None
    adopted: bool = False

    @property
    def mode(self) -> Mode:
        """The mode that it was born with."""
        return self.output or ("register" if self.registered else "load")

    @property
    def starting_over(self) -> str:
        """How rows get a table with other choices, in the imperative."""
        name = self.name
        if self.adopted:
            return (
                f"write the rows of bronze.{name} to an empty prefix, which lake.yaml gives to another table "
                "(`tidegate reset` refuses a table that was adopted)"
            )
        return f"start the table over with `tidegate reset {name}`"
