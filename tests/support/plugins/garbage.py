"""Spares the garbage collector what lives as long as the process: modules and collected tests.

They are most of a million objects, and a full collection looks at each of them.
"""

from __future__ import annotations

import gc

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collect no garbage while tests are collected: nearly everything stays."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave what is there out of later collections."""
    gc.enable()
    gc.freeze()
