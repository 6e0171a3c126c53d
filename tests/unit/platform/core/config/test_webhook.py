"""The webhooks of lake.yaml, and the texts of their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError, load_lake

LAKE = """\
lake: {root: "s3://lake/x"}
queues: [{name: events}]
buckets: [landing]
tables:
  - {name: orders, row_queue: {name: orders-rows}}
  - {name: files, prefix: "s3://landing/files/"}
webhooks:
"""
SHOP = "  - {name: shop, queue: orders-rows, verification: shopify, secrets: [{env: SHOP}]}\n"


def load(tmp_path: Path, text: str) -> LakeConfig:
    path = tmp_path / "lake.yaml"
    path.write_text(text, encoding="utf-8")
    return load_lake(path, {"SHOP": "the secret!"})


def problem(tmp_path: Path, text: str) -> str:
    with pytest.raises(LakeConfigError) as caught:
        load(tmp_path, text)
    (found,) = caught.value.problems
    return found.removeprefix(f"{tmp_path}/")


def test_a_webhook_with_its_defaults_and_with_everything(tmp_path: Path) -> None:
    everything = """\
  - name: billing_2
    queue: orders-rows
    verification: secret
    secrets: [{file: /run/secrets/new}, {env: OLD_SECRET}]
    header: X-Api-Key
    max_bytes: 1000
    rate: 0.5
    retry_days: 7
"""
    config = load(tmp_path, LAKE + SHOP + everything)
    shop, billing = config.webhooks
    assert (shop.max_bytes, shop.rate, shop.retry_days, shop.header) == (261_120, 100, 4, "x-webhook-secret")
    assert (billing.max_bytes, billing.rate, billing.retry_days, billing.header) == (1000, 0.5, 7, "x-api-key")
    assert [secret.place for secret in billing.secrets] == [
        "the file /run/secrets/new",
        "the environment variable OLD_SECRET",
    ]
    assert config.row_queue("orders-rows").name == "orders-rows"
    assert load(tmp_path, LAKE.removesuffix("webhooks:\n")).webhooks == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("name: shop", "name: Shop", "name: use lower-case letters, digits, underscores and hyphens"),
        ("name: shop", "name: a/b", "name: use lower-case letters"),
        ("name: shop", "name: readyz", "name: /readyz is an address of the server itself"),
        (
            "queue: orders-rows",
            "queue: events",
            "queue: 'events' is not a row queue of a table (row queues: orders-rows)",
        ),
        ("verification: shopify", "verification: paypal", "verification: input should be 'standard', 'github'"),
        ("[{env: SHOP}]", "[]", "secrets: needs at least one entry"),
        ("[{env: SHOP}]", "[{}]", "secrets[0]: give exactly one of env and file"),
        ("[{env: SHOP}]", "[{env: A, file: b}]", "secrets[0]: give exactly one of env and file"),
        ("secrets", "header: x-a, secrets", "header: only `verification: secret` has a header of its own; remove it"),
        ("shopify", "secret, header: 'a b'", "header: 'a b' is not a name of an HTTP header"),
        ("secrets", "max_bytes: 1048576, secrets", "max_bytes: input should be less than or equal to 1047552"),
        ("secrets", "rate: 0, secrets", "rate: input should be greater than 0"),
        ("secrets", "retry_days: 31, secrets", "retry_days: input should be less than or equal to 30"),
        ("secrets", "secret: x, secrets", "secret: unknown field; did you mean 'secrets'?"),
    ],
)
def test_problems_of_a_webhook(tmp_path: Path, before: str, after: str, expected: str) -> None:
    found = problem(tmp_path, LAKE + SHOP.replace(before, after, 1))
    assert found.startswith(f"lake.yaml:8: webhooks[0].{expected}")


def test_a_secret_in_the_file_is_refused_and_not_shown(tmp_path: Path) -> None:
    found = problem(tmp_path, LAKE + SHOP.replace("env: SHOP", 'env: "${SHOP}"'))
    assert "must be the name of an environment variable, which has the secret" in found
    assert "the secret!" not in found


def test_two_webhooks_have_two_names_and_may_share_a_queue(tmp_path: Path) -> None:
    found = problem(tmp_path, LAKE + SHOP + SHOP)
    assert found == (
        "lake.yaml:9: webhooks[1].name: 'shop' is also the name of webhooks[0]; each sender has an address of its own; "
        "see line 8"
    )
    assert len(load(tmp_path, LAKE + SHOP + SHOP.replace("name: shop", "name: other", 1)).webhooks) == 2


def test_conflicts_are_reported_together_with_other_errors(tmp_path: Path) -> None:
    with pytest.raises(LakeConfigError) as caught:
        load(tmp_path, LAKE.replace("lake: {", "windw: 1\nlake: {") + SHOP.replace("orders-rows", "nobody"))
    assert [line.split(": ")[1] for line in caught.value.problems] == ["windw", "webhooks[0].queue"]


def test_a_queue_that_is_not_valid_has_one_error(tmp_path: Path) -> None:
    text = LAKE.replace("row_queue: {name: orders-rows}", "row_queue: {name: 'no name'}") + SHOP
    assert "tables[0].row_queue.name: 'no name' is not a name of a queue" in problem(tmp_path, text)


def test_without_row_queues_the_error_says_so(tmp_path: Path) -> None:
    text = LAKE.replace("row_queue: {name: orders-rows}", "prefix: s3://landing/orders/") + SHOP
    assert problem(tmp_path, text).endswith("'orders-rows' is not a row queue of a table (no table has a `row_queue`)")
