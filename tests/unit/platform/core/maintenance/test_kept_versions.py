"""For how long old versions can be read, by the properties of a table."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tidegate.platform.core.maintenance.kept_versions import deleted_file_retention, log_retention

FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"


@pytest.mark.parametrize(
    ("properties", "files", "log"),
    [
        ({}, timedelta(days=7), timedelta(days=30)),
        ({FILES: "interval 3650 days"}, timedelta(days=3650), timedelta(days=30)),
        ({FILES: "interval 3650 days", LOG: "interval 2 weeks 1 hour"}, timedelta(3650), timedelta(days=14, hours=1)),
        ({FILES: "INTERVAL 90 MINUTES", LOG: "interval 1 day"}, timedelta(minutes=90), timedelta(days=1)),
    ],
)
def test_files_and_log_have_retentions_of_their_own(
    properties: dict[str, str], files: timedelta, log: timedelta
) -> None:
    assert (deleted_file_retention(properties), log_retention(properties)) == (files, log)


def test_a_retention_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match=f"{LOG} is 'ten years': use weeks, days, hours"):
        log_retention({LOG: "ten years"})
