"""A batch was decided, its run died, and one of its files disappeared: the batch becomes void, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.lakes.harness import Watched


def decided_and_dead(table: Watched) -> int:
    """Kill a run right after it has decided a batch. Returns the batch's number."""
    table.lake.take_in()
    table.dies_at("decide")
    n = table.lake.lake.table(table.table_key).ledger.clock()[1] + 1
    assert table.lake.lake.table(table.table_key).batches.read(n) is not None
    return n


def born(table: Watched) -> None:
    table.put("a")
    table.put("b")
    table.lake.take_in()
    table.run()


def assert_void(table: Watched, n: int) -> None:
    """Check that batch n is void, and that the run that found it continued with its hints."""
    first, *_ = done = table.run()
    assert (first.batch.n, first.landed.outcome) == (n, "void")
    assert len(done) > 1, "the hints of the void batch were not taken up again"
    store = table.lake.lake.store
    assert store.objects.get(store.bucket, store.key("batches", table.table_key, f"{n:020d}.void"))
    assert table.headers()[n]["outcome"] == "void"


@pytest.mark.parametrize("at_birth", [True, False], ids=["at birth", "later"])
def test_staged_file_deleted_before_the_batch_is_finished(at_birth: bool, unused: Callable[[str], Watched]) -> None:
    table = unused("load")
    if not at_birth:
        born(table)
        table.overwrite("a")
    table.put("c")
    table.put("d")
    table.again("c")
    n = decided_and_dead(table)
    batch = table.lake.lake.table(table.table_key).batches.read(n)
    assert batch is not None
    staged = f"{batch.location.split('/', 3)[3]}/{batch.adds[0].path}"
    table.lake.clients.s3.delete_object(Bucket=table.lake.lake_bucket, Key=staged)
    assert_void(table, n)
    table.check()


@pytest.mark.parametrize("at_birth", [True, False], ids=["at birth", "later"])
def test_registered_file_deleted_before_the_batch_is_finished(at_birth: bool, unused: Callable[[str], Watched]) -> None:
    table = unused("reg")
    if not at_birth:
        born(table)
        table.remove("a")
    table.put("c")
    table.put("d")
    n = decided_and_dead(table)
    table.lose("c", then="removed")
    assert_void(table, n)
    table.lake.take_in()
    table.run()
    table.check()


def test_rows_to_replace_compacted_before_the_batch_is_finished(unused: Callable[[str], Watched]) -> None:
    """The rows that the redrive would remove are in another file by then, together with other rows."""
    table = unused("load")
    table.mixed("mixed")
    table.lake.take_in()
    table.run()
    table.put("a")
    table.lake.take_in()
    table.run()
    table.redrive("mixed")
    n = decided_and_dead(table)
    table.lake.lake.delta.session.sql(f"OPTIMIZE delta.`{table.location()}`").collect()
    assert_void(table, n)
    table.check()


def test_registered_file_overwritten_before_the_batch_is_finished(unused: Callable[[str], Watched]) -> None:
    table = unused("reg")
    born(table)
    table.put("c")
    n = decided_and_dead(table)
    table.replace("c")
    assert_void(table, n)
    table.lake.take_in()
    table.run()
    table.check()
