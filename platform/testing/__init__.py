"""Tests of assets by materializing them: fixtures with real Spark, real Delta and a local AWS.

In your `conftest.py`::

    pytest_plugins = ["tidegate.testing"]

and a test takes the fixture `tidegate_lake`. docs/guides/testing-your-lake.md has an example.
"""

from tidegate.platform.testing.lake import TestLake

__all__ = ["TestLake"]
