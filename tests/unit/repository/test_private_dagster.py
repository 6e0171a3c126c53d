"""Dagster promises nothing of its private modules: few modules know one, each for a reason that is here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.layout import modules
from tests.support.private_names import private_names

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("platform", "assets", "sensors", "resources", "tidegate")

#: Modules that use private names of Dagster, and why.
PRIVATE = {
    "platform/launcher/fork_server.py": "a run is Dagster's own command, in a process that exists already",
    "platform/launcher/run_coordinator.py": "Dagster's queue, which has no public way to add a limit",
    "platform/launcher/run_launcher.py": "Dagster's launcher, which has no public way to start a run in another way",
    "platform/launcher/warm_process.py": "what the launcher sends to the process that it forks",
    "platform/local/code_server.py": "without the UI only the private protocol says whether definitions load",
    "assets/private_dagster.py": "results of checks, and the event of a planned materialization, have no public name",
    "assets/maintenance/history_tables.py": "rows that Dagster never deletes; only a job that is off imports it",
}


def test_private_names_of_dagster_are_in_few_modules() -> None:
    found = {
        path.as_posix(): names
        for path in modules(ROOT, FOLDERS)
        if (names := private_names(ast.parse((ROOT / path).read_text(encoding="utf-8"))))
    }
    assert {path: names for path, names in found.items() if path not in PRIVATE} == {}
    assert set(PRIVATE) == set(found), "no reason without its module"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from dagster._core.events import StepMaterializationData", ["dagster._core.events"]),
        ("from dagster import _check as check", ["dagster._check"]),
        ("import dagster._utils.test", ["dagster._utils.test"]),
        ("def late():\n    from dagster._core.errors import DagsterError", ["dagster._core.errors"]),
        ("from dagster_aws._private import x", ["dagster_aws._private"]),
        ("from dagster_shared.serdes import serialize_value", ["dagster_shared.serdes"]),
        ("import dagster as dg\nx = dg._core.events", ["dg._core"]),
        ("import dagster as dg\ndg.DagsterInstance.get()._run_storage", ["dg.DagsterInstance.get()._run_storage"]),
        ("from dagster import DagsterInstance\ndef f(instance):\n    instance._x()", ["instance._x"]),
        ("import dagster\nclass A:\n    def f(self):\n        self._instance._x", ["self._instance._x"]),
        ("x = import_module('dagster._core.storage')", ["dagster._core.storage"]),
        ("arguments = ['-m', 'dagster._daemon']", ["dagster._daemon"]),
        ("import dagster as dg\nclass A:\n    def f(self):\n        self._own, self.__class__, dg.__version__", []),
        ("def f(row):\n    return row._replace(a=1)", []),
        ("from dagster import Definitions\nfrom dagster.components import Component", []),
    ],
)  # fmt: skip
def test_a_private_name_is_found(source: str, names: list[str]) -> None:
    assert private_names(ast.parse(source)) == names
