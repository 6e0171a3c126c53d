"""Names that a producer may choose, each of which means something to the grammar of some reader."""

from __future__ import annotations

from random import Random

from tidegate.platform.core.schema.column_types import fold_name

NAMES = [
    *("${env:HOME}", "${system:user.name}", "${spark.app.name}", "$1", "a`b", "``", "a.b", "a..b", ".", "'", '"', "\\"),
    *("line\nend", "tab\there", " leading", "trailing ", " ", "50%", "%2e", "a,b;c", "a=b", "{x}", "{}", "(y)", "[z]"),
    *("-- comment", "/* comment", "<script>", "![x](https://evil.example/x.png)", "🌊", "µg", "straße", "é", "e\u0301"),
    *("\u2028", "\u202e", "\x1b[31m", "NULL", "select", "*", "col-1", "n" * 255, "é" * 500),
]
#: Names of the corpus that only single readers have a grammar for: Rich, Glue, YAML, spreadsheets and JSON.
ODDER_NAMES = [
    *(
        "[bold]x[/bold]",
        "[/]",
        ":warning:",
        "\x00",
        "\x7f",
        "\x85",
        "\ufeff",
        "\uffff",
        "\u20d7",
        "=1+1",
        "@SUM(A1)",
        "- x",
    ),
    *("n" * 1000, "日" * 333),
]
#: Names of 1,200 to 4,000 bytes. Queries of a table with several of them take Spark minutes.
LONG_NAMES = ["日" * 400, "日" * 1000, "🌊" * 1000]
#: Longer than a name may be.
TOO_LONG = ["n" * 1001, "é" * 1001, "n" * 4000]
#: Letters that another letter is in small or capital letters, some of them in one of the two only.
_OF_CASES = "aKkKſsßẞµμΜςσΣıIİiÅåÅ𐐀𐐨ǅǆﬁé"


def generated(chance: Random, count: int) -> list[str]:
    """Return names of parts of the corpus and of any letters. For Spark no two are one, nor one of the corpus."""
    taken, found = {fold_name(name) for name in (*NAMES, *ODDER_NAMES, "id", "at", "p")}, []
    while len(found) < count:
        name = "".join(_part(chance) for _ in range(chance.randint(1, 6)))
        if fold_name(name) not in taken:
            taken.add(fold_name(name))
            found.append(name)
    return found


def _part(chance: Random) -> str:
    ranges = [(0, 0x20), (0x20, 0x7F), (0x7F, 0x250), (0x2000, 0x2100), (0xE000, 0xFFFF), (0x10000, 0x1FFFF)]
    letter = chr(chance.randrange(*chance.choice(ranges)))
    return chance.choice([letter, chance.choice(_OF_CASES), chance.choice([*NAMES, *ODDER_NAMES])[:20]])
