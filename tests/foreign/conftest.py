"""One lake for all foreign files: a table for each case."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.support.foreign.cases import CASES
from tests.support.foreign.landing import Landing
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.testing import TestLake


@pytest.fixture(scope="session")
def landing(tidegate_stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Landing:
    """Return the lake. A case is loaded when a test first asks for it."""
    tables, unknown = [], {}
    for case in CASES:
        table = {"name": case.name, "prefix": f"{case.name}/", **case.options}
        try:
            TableSpec.model_validate({**table, "prefix": f"s3://bucket/{case.name}/"})
            tables.append(table)
        except ValidationError as error:
            unknown[case.name] = f"lake.yaml does not take its options: {error}"
    lake = TestLake(tidegate_stack, tmp_path_factory.mktemp("foreign"), "foreign", tables, {"discovery": False})
    return Landing(lake, tmp_path_factory.mktemp("files"), unknown)
