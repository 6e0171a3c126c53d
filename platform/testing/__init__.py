"""The lake of a test on real Spark, real Delta and a local AWS, and its fixtures (public: `tidegate.testing`)."""

from tidegate.platform.testing.lake import TestLake

__all__ = ["TestLake"]
