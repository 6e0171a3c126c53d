"""What manifests are asked for: the objects of a query, or those of inventories."""

from __future__ import annotations

import pytest

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.manifest import ManifestQuestion

SQL, TO = "SELECT bucket, key FROM bronze.objects", "s3://jobs/x/"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (ManifestQuestion(), "give either a table of inventories, or a query with --sql"),
        (ManifestQuestion("objects", sql=SQL, to=TO), "give either a table of inventories, or a query with --sql"),
        (ManifestQuestion(sql=SQL), "say with --to below which s3:// folder"),
        (ManifestQuestion(sql=SQL, to=TO, bucket="acme"), "let the WHERE of --sql choose instead"),
        (ManifestQuestion(sql=SQL, to=TO, configuration="all"), "let the WHERE of --sql choose instead"),
        (ManifestQuestion("objects", to=TO), "S3 has written the manifests of inventories already"),
    ],
)
def test_a_question_that_is_two_or_half_of_one_is_refused(asked: ManifestQuestion, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        asked.check()


def test_a_query_and_a_table_are_questions() -> None:
    ManifestQuestion(sql=SQL, to=TO).check()
    ManifestQuestion("objects", "acme", "all").check()
