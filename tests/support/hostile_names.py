"""Names that a producer may choose, each of which means something to the grammar of some reader."""

from __future__ import annotations

NAMES = [
    *("${env:HOME}", "${system:user.name}", "${spark.app.name}", "$1", "a`b", "``", "a.b", "a..b", ".", "'", '"', "\\"),
    *("line\nend", "tab\there", " leading", "trailing ", " ", "50%", "%2e", "a,b;c", "a=b", "{x}", "{}", "(y)", "[z]"),
    *("-- comment", "/* comment", "<script>", "![x](https://evil.example/x.png)", "🌊", "µg", "straße", "é", "e\u0301"),
    *("\u2028", "\u202e", "\x1b[31m", "NULL", "select", "*", "col-1", "n" * 255, "é" * 500),
]
#: Names of the corpus that only single readers have a grammar for: Rich, Glue, YAML, spreadsheets and JSON.
ODDER_NAMES = [
    *("[bold]x[/bold]", "[/]", ":warning:", "\x00", "\x7f", "\x85", "\ufeff", "\uffff", "=1+1", "@SUM(A1)", "- x"),
    *("n" * 1000, "日" * 333),
]
