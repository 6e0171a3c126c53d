"""The page of the cases. `python -m tests.support.peers.page > tests/spark/files/peers.md` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.support.peers import changes, csv_files, declared_files, json_files, names
from tests.support.peers.case import Changes, Peer

_HEAD = """\
# What went wrong in other products

Each line is a report of another product's issue tracker, and what becomes of such input here. `test_peers.py` puts
all of them through the real pipeline. The inputs are in `tests/support/peers`, and are written by us. `python -m
tests.support.peers.page` writes this page from them.
"""
_FIXED = {
    "NVIDIA/cudf#21993": "The time was one second off here, too, until the parts of a time below zero were read.",
    "NVIDIA/cudf#11525": "The time was one second off here, too.",
    "databricks/spark-csv#390": "The whole file was refused here, if that row was its first.",
}
_PARTS: Sequence[tuple[str, Sequence[Peer | Changes]]] = (
    ("CSV", csv_files.CASES),
    ("Names of objects", names.CASES),
    ("JSON", json_files.CASES),
    ("Parquet, ORC and Avro", declared_files.CASES),
    ("Changes", changes.CASES),
)


def page() -> str:
    """Return the text of tests/spark/files/peers.md."""
    return _HEAD + "".join(f"\n## {part}\n\n{''.join(_lines(cases))}" for part, cases in _PARTS)


def _lines(cases: Sequence[Peer | Changes]) -> Iterator[str]:
    yield "| report | there | here |\n|---|---|---|\n"
    for case in cases:
        repository, _, number = case.source.partition("#")
        link = f"[{case.source}](https://github.com/{repository}/issues/{number})"
        fixed = _FIXED.get(case.source, "")
        yield f"| {link} | {case.was} | {' '.join(filter(None, [_outcome(case), fixed]))} |\n"


def _outcome(case: Peer | Changes) -> str:
    if isinstance(case, Changes):
        rows = f"{len(case.rows)} row{'s' * (len(case.rows) != 1)} in silver" if case.rows else "no row in silver"
        return f"{rows}, whenever merges run."
    if case.refused:
        return "The file is in quarantine, with the reason."
    bad = f"{case.bad} row{'s are' if case.bad > 1 else ' is'} in quarantine, and " if case.bad else ""
    others = "all other values are" if bad else "All values are"
    return f"{bad}{others} in the table as they were written."


if __name__ == "__main__":
    print(page(), end="")
