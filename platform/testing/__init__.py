"""Testing assets by materializing them: fixtures over a real Spark, a real Delta and a local AWS.

In your ``conftest.py``::

    pytest_plugins = ["tidegate.platform.testing.fixtures"]

and in a test ask for ``tidegate_lake``; docs/guides/testing-your-lake.md has an example.
"""

from tidegate.platform.testing.lake import TestLake

__all__ = ["TestLake"]
