"""The example of docs/testing.md, run as it stands there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidegate.platform.testing import TestLake

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_the_example_of_the_testing_page_passes(tidegate_lake: Callable[..., TestLake]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    (test,) = [value for name, value in names.items() if name.startswith("test_")]
    test(tidegate_lake)
