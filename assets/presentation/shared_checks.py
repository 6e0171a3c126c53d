"""Checks that several assets have: each asset has its own result, and one step evaluates those that are selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import dagster as dg


def check_of_each(
    assets: Iterable[dg.AssetKey], check: str, promise: str, *, name: str, description: str
) -> Callable[[Callable[..., Iterator[dg.AssetCheckResult]]], dg.AssetChecksDefinition]:
    """Return the decorator of a function that yields the results of one check for the selected assets.

    Args:
        assets: the assets that have the check.
        check: name of the check.
        promise: what is true when the check passes, as a sentence.
        name: name of the step.
        description: what the step does, as a sentence.
    """
    specs = [dg.AssetCheckSpec(check, asset=asset, description=promise) for asset in assets]
    return dg.multi_asset_check(name=name, specs=specs, can_subset=True, description=description)
