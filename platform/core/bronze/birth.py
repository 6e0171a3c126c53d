"""The birth record of a table."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.platform.core.keys.file_format import Mode, OutputMode


@dataclass(frozen=True)
class Birth:
    """The choices fixed when a table is first written. Only a reset replaces them.

    Attributes:
        generation: UUID. A rebuild keeps it.
        location: `s3a://` URI of the bronze table.
        name: SQL name in the schema `bronze`.
        registered: whether the table registers its source files instead of loading their rows.
        generation_folder: folder of its batches and its ledger, under `batches/` and `ledger/`. If empty, the table key
            is the folder.
        after_version: Delta version of the reset that began this generation. -1 if no reset did.
        output: the mode in which its rows become objects of an output. Then there is no Delta table, and its objects
            are staged at the location. None for a table.
    """

    generation: str
    location: str
    name: str
    registered: bool
    generation_folder: str = ""
    after_version: int = -1
    output: OutputMode | None = None

    @property
    def mode(self) -> Mode:
        """The mode that it was born with."""
        return self.output or ("register" if self.registered else "load")
