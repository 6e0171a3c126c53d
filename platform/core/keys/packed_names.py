"""Names of packed text files: which endings are unpacked, and which are refused."""

from __future__ import annotations

#: The ending of objects that are unpacked. Case matters: Spark reads x.csv.GZ as plain text.
GZIP = ".gz"
#: Endings by which Spark's readers of text choose another unpacker. None is promised: some unpackers need libraries
#: that a server may not have, and some read plain text as no rows.
REFUSED = (".bz2", ".deflate", ".lz4", ".snappy", ".zst")


def refusal(key: str) -> str | None:
    """Return why a text file of this name is not read, and what to do. None if its name is no obstacle."""
    found = next((ending for ending in REFUSED if key.endswith(ending)), None)
    if found is None:
        return None
    return (
        f"its name ends in {found}, and of packed text only gzip is read; write it with gzip and the ending {GZIP}, or "
        "as plain text without such an ending"
    )
