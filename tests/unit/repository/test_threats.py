"""Each row of who is trusted with what names a test that is there, and each secret of a recipe has its way out."""

from __future__ import annotations

import re

from tests.support.tracked import ROOT
from tidegate.platform.cloud.roles.roles import ROLES

THREATS, SECRETS = (
    (ROOT / "docs" / "operate" / f"{name}.md").read_text(encoding="utf-8") for name in ("threats", "secrets")
)


def test_each_row_of_the_table_names_a_test_that_is_there() -> None:
    table = THREATS.split("## Who is trusted with what\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 9
    for *_, test in rows:
        (path,) = re.findall(r"`(tests/[\w/]+\.py)`", test)
        assert (ROOT / path).is_file(), path
    named = {word for row in rows for word in re.findall(r"`(\w+)`", row[1])}
    assert named <= ROLES.keys()


def test_each_secret_that_a_recipe_or_lake_yaml_asks_for_is_on_the_page() -> None:
    """A variable whose name says that it is a secret, and each place of a secret in lake.yaml."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in [*(ROOT / "deploy").rglob("*.example"), ROOT / "docs" / "reference" / "environment.md"]
    ]
    names = set(re.findall(r"\b[A-Z_]*(?:TOKEN|PASSWORD|SECRET)[A-Z_]*\b", "\n".join(texts)))
    for name in names - PLACED:
        assert f"`{name}" in SECRETS, name
    assert "`forget.secret`" in SECRETS
    assert "`secrets: [{file: " in SECRETS


#: Names of the secrets of the page in other places.
PLACED = {
    "SPARK_CONNECT_AUTHENTICATE_TOKEN",  # the token itself, which the page advises against
    "POSTGRES_PASSWORD",  # of Dagster's database, in the file for Docker Compose
    "UI_PASSWORD_HASH",  # of the login
    "TIDEGATE_FORGET_SECRET",  # of `forget.secret`, in an example
}
