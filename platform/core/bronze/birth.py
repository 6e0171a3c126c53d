"""The birth record of a table."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.platform.core.keys.file_format import Mode


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
        output: whether its rows become objects of an output. Then there is no Delta table, and its objects are staged
            at the location.
    """

    generation: str
    location: str
    name: str
    registered: bool
    generation_folder: str = ""
    after_version: int = -1
    output: bool = False

    @property
    def mode(self) -> Mode:
        """The mode that it was born with."""
        return "repartition" if self.output else "register" if self.registered else "load"
