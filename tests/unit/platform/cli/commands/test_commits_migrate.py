"""What `tidegate commits migrate` says to do next."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.cli.commands.commits_migrate import _require_our_store, next_steps
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.commits import Commits, commits_of_class, log_store_class

VALUES: tuple[Commits, ...] = ("dynamodb", "s3")


@pytest.mark.parametrize("to", VALUES)
@pytest.mark.parametrize("commits", VALUES)
@pytest.mark.parametrize("store", VALUES)
def test_lake_yaml_changes_first_then_the_servers_and_only_then_it_is_done(
    store: Commits, commits: Commits, to: Commits
) -> None:
    steps = next_steps(commits, log_store_class(store), to, "sc://spark:15002")
    text = " ".join(steps)
    assert ("done:" in text) == (store == commits == to)
    assert (f"write `commits: {to}` under `lake`" in text) == (commits != to)
    assert (f"`tidegate commits migrate --to {to} --yes`" in text) == ("done:" not in text)
    if commits == to != store:
        assert re.match(rf"next: restart the Spark server sc://spark:15002 with {log_store_class(to)}", text)


def test_roles_lose_dynamodb_last_and_get_it_first() -> None:
    first, last = ({to: " ".join(next_steps(commits, log_store_class(commits), to, "s")) for to in VALUES}
                   for commits in ("dynamodb", "s3"))  # fmt: skip
    assert "leave the DynamoDB statements in the server's role until the move is done" in first["s3"]
    assert "give the server's role the DynamoDB statements" in last["dynamodb"]
    assert "then take DynamoDB out of the roles" in last["s3"]
    assert "take DynamoDB out" not in first["s3"] + first["dynamodb"]


@pytest.mark.parametrize("store", ["", "io.delta.storage.S3DynamoDBLogStore", "org.acme.Store"])
def test_a_server_with_another_log_store_does_not_move(store: str) -> None:
    lake: Any = SimpleNamespace(delta=SimpleNamespace(log_store=store))
    assert commits_of_class(store) is None
    with pytest.raises(
        CommandError, match=rf"commits by {store or 'Delta’s own'}.*give it {log_store_class('dynamodb')}"
    ):
        _require_our_store(lake)


@pytest.mark.parametrize("commits", VALUES)
def test_each_value_has_one_log_store(commits: Commits) -> None:
    assert commits_of_class(log_store_class(commits)) == commits
    lake: Any = SimpleNamespace(delta=SimpleNamespace(log_store=log_store_class(commits)))
    _require_our_store(lake)
