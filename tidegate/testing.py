"""Tests of a lake with real Spark, real Delta and a local AWS: the fixtures of pytest.

In your `conftest.py`::

    pytest_plugins = ["tidegate.testing"]

and a test takes the fixture `tidegate_lake`, which makes a `TestLake`. docs/guides/testing-your-lake.md has an example.
"""

from tidegate.platform.testing import TestLake
from tidegate.platform.testing.fixtures import MakeLake, tidegate_lake, tidegate_stack

__all__ = ["MakeLake", "TestLake", "tidegate_lake", "tidegate_stack"]
