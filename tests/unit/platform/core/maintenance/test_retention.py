"""Which folders of the lake root have a retention: few, and the quarantine only if it is asked for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tidegate.platform.core.config.lake import MaintainSpec
from tidegate.platform.core.maintenance.retention import QUARANTINE, retentions


def test_the_quarantine_is_kept_for_ever_unless_lake_yaml_gives_it_days() -> None:
    assert retentions(MaintainSpec()) == {"intake": 90, "staging": 7}
    assert retentions(MaintainSpec(quarantine=30)) == {"intake": 90, "staging": 7, **dict.fromkeys(QUARANTINE, 30)}


def test_nothing_that_the_contract_needs_has_a_retention() -> None:
    folders = {folder.split("/")[0] for folder in retentions(MaintainSpec(versions=1, intake=2, quarantine=7))}
    assert folders == {"intake", "staging", "quarantine"}


@pytest.mark.parametrize("days", [{"versions": 0}, {"intake": 1}, {"quarantine": 6}])
def test_a_retention_that_is_too_short_is_refused(days: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="greater than or equal"):
        MaintainSpec(**days)  # type: ignore[arg-type]
