"""What `tidegate commits migrate` says to do next."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.cli.commands.commits_migrate import TableReview, _last_commit, _require_our_store, next_steps
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
    assert "leave the DynamoDB statements in the server's role, and its ddb.* settings, until the move" in first["s3"]
    assert "before a server starts, its role needs the DynamoDB statements" in last["dynamodb"]
    assert "then take DynamoDB out of the roles" in last["s3"]
    assert "take DynamoDB out" not in first["s3"] + first["dynamodb"]


def test_readers_that_may_overwrite_a_commit_leave_before_the_lake_moves_to_s3() -> None:
    first = {to: next_steps(commits, log_store_class(commits), to, "s") for commits, to in (VALUES, VALUES[::-1])}
    assert re.match("first: nobody may have Delta's own store .* also to read only", first["s3"][0])
    assert not any(line.startswith("first:") for line in first["dynamodb"])


@pytest.mark.parametrize(("to", "leaves"), [("s3", "through"), ("dynamodb", "without")])
def test_the_end_of_a_move_says_when_somebody_last_committed_as_before(to: Commits, leaves: str) -> None:
    now = time.time()
    review = TableReview(through_dynamodb=now - 600, without_dynamodb=now - 60 * 90)
    said = _last_commit([TableReview(), review], to)
    minutes = 10 if to == "s3" else 90
    assert said.startswith(f"the last commit {leaves} DynamoDB was {minutes} minutes ago: if the last server")
    assert _last_commit([TableReview()], to).startswith(f"no commit of these tables went {leaves} DynamoDB within")
    assert ("Delta's own store and deltalake up to 1.6.0 may share a table when every server" in said) == (
        to == "dynamodb"
    )


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
