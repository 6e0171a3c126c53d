"""All tables share the Spark server: a table that often loses it rests, and the others do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.bronze.loss_quota import MAX_LOSSES, PERIOD, Loss, rests_until

HOUR = 3600.0
#: Whole seconds: with others, a sum and its difference are not the number again.
TIMES = st.lists(st.integers(0, 3 * PERIOD), max_size=40)


def test_a_table_rests_until_its_losses_are_within_the_quota_again() -> None:
    losses = [Loss(n * HOUR, "a") for n in range(MAX_LOSSES)]
    assert rests_until(losses[:-1], "a") is None
    assert rests_until(losses, "a") == PERIOD
    assert rests_until([*losses, Loss(MAX_LOSSES * HOUR, "a")], "a") == PERIOD + HOUR
    assert rests_until(losses, "b") is None
    assert rests_until([], "a") is None


def test_a_table_that_only_reads_when_another_loses_the_server_does_not_rest_with_it() -> None:
    shared = [Loss(n * HOUR, "a") for n in range(12)]
    for others in (1, 5):
        bystanders = [Loss(loss.at + 300, f"b{n}") for loss in shared for n in range(others)]
        assert all(rests_until([*shared, *bystanders], f"b{n}") is None for n in range(others))
    # Alone it loses the server again and again, and rests.
    alone = [Loss((12 + n / 4) * HOUR, "a") for n in range(MAX_LOSSES)]
    assert rests_until([*shared, *bystanders, *alone], "a") is not None
    assert rests_until([*shared, *bystanders, *alone], "b0") is None


@given(TIMES, TIMES)
def test_no_table_has_more_losses_of_its_own_in_a_day_than_the_quota_before_it_rests(
    own: list[int], others: list[int]
) -> None:
    """The order of the notes is of no effect, and old losses do not count."""
    losses = [*(Loss(at, "a") for at in own), *(Loss(at, "b") for at in others)]
    until = rests_until(losses, "a")
    assert until == rests_until(losses[::-1], "a")
    if until is None:
        return
    newest = max(own)
    assert newest < until <= newest + PERIOD
    assert sum(newest - PERIOD < at <= newest for at in own) >= MAX_LOSSES
    kept = [loss for loss in losses if loss.at > newest - PERIOD - 600]
    assert rests_until(kept, "a") == until
    without = [loss for loss in losses if loss.source != "a" or loss.at > until - PERIOD]
    assert rests_until(without, "a") is None
