"""Where SQL reaches Spark: a text of a user is a query by construction, is refused, or is in the log of operations."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: How a statement begins that reads. What follows in it cannot make it another one: Spark takes one statement.
READS = ("SELECT ", "DESCRIBE HISTORY ", "SHOW TABLES ")
_OURS = "composed by Tidegate of the options of lake.yaml, in the place of a column or a condition"
#: Functions whose statements do not show how they begin, and why no text of a user is run in them unseen.
KNOWN = {
    "platform/lake/spark/session.py command": "Tidegate's own commands",
    "platform/lake/spark/session.py select": "its callers are looked at here",
    "platform/query/frame.py _name_tables": "makes a temporary view of a text of Tidegate",
    "platform/query/frame.py _analyze_query": "a user's text, by one of the doors below",
    "platform/testing/lake.py sql": "the lake of a test of a user",
    "platform/demo/events/findings.py _query": "the demo's own lake",
    "platform/demo/events/findings.py compare_webhooks": "the demo's own lake",
    "platform/demo/storage/findings.py compare_past": "the demo's own lake",
    "platform/demo/storage/orphans.py leave_files": "the demo's own lake",
    "platform/demo/run.py read_stories": "the demo's own lake",
    "platform/forgetting/shared_keys.py _first_batch": _OURS,
    "platform/forgetting/shared_keys.py _is_stored": _OURS,
    "platform/inventory/audits.py run": "reports of Tidegate",
    "platform/silver/audit/key_selection.py chosen_keys": _OURS,
    "platform/silver/audit/audited_rows.py _query_rows": _OURS,
    "platform/silver/audit/audited_rows.py silver_times": _OURS,
    "platform/silver/audit/sampled_keys.py find_doubted_keys": _OURS,
    "platform/silver/dumps/incomplete_dumps.py _dumps_of": _OURS,
    "platform/silver/dumps/incomplete_dumps.py _has_merged": _OURS,
    "platform/prove/comparison.py drop_names": _OURS,
    "platform/silver/dumps/incomplete_dumps.py _orders_in": _OURS,
    "platform/silver/dumps/incomplete_dumps.py _whole_files": _OURS,
    "platform/silver/export.py _rows": _OURS,
    "platform/silver/row_queries.py has_copies": _OURS,
}
#: The doors for texts of users, with those who take them: what the first one takes is a query, or refused, and the
#: second one records what may change something.
DOORS = {
    "query_frame": {"platform/cli/inventory/manifest.py"},
    "statement_frame": {"platform/cli/commands/sql.py", "resources/lake_resource.py"},
}


def test_each_statement_begins_as_one_that_reads_or_is_known() -> None:
    statements = [
        *(
            (each, each[2].args[0])
            for each in _calls_by_name()["sql"]
            if ast.unparse(each[2].func).endswith("session.sql")
        ),
        *((each, each[2].args[1]) for each in _calls_by_name()["select"] if ast.unparse(each[2].func) == "select"),
    ]
    found = {f"{path} {name}" for (path, name, _), text in statements if not _beginning(text).startswith(READS)}
    assert found == KNOWN.keys()


def test_the_doors_for_texts_of_users_have_the_known_callers() -> None:
    for door, callers in DOORS.items():
        assert {path for path, _, _ in _calls_by_name()[door]} == callers


@cache
def _calls_by_name() -> dict[str, list[tuple[str, str, ast.Call]]]:
    """Return the calls of functions and methods by name, each with its file and the innermost function that has it."""
    found: dict[str, list[tuple[str, str, ast.Call]]] = {}
    for part in ("platform", "assets", "sensors", "resources"):
        for path in sorted((ROOT / part).rglob("*.py")):
            tree = ast.parse(path.read_text())
            functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            for call in ast.walk(tree):
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute | ast.Name):
                    continue
                around = [each for each in functions if each.lineno <= call.lineno <= (each.end_lineno or 0)]
                inner = max(around, key=lambda function_def: function_def.lineno, default=None)
                name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
                place = (path.relative_to(ROOT).as_posix(), inner.name if inner else "", call)
                found.setdefault(name, []).append(place)
    return found


def _beginning(text: ast.expr) -> str:
    """Return the constant text that an expression begins with."""
    match text:
        case ast.Constant(str(value)):
            return value
        case ast.JoinedStr([first, *_]):
            return _beginning(first)
        case ast.BinOp(left, ast.Add()):
            return _beginning(left)
        case _:
            return ""
