"""Whether the two sides of a change may be of two persons."""

from __future__ import annotations

import pytest

from tidegate.platform.core.forgetting.persons import sides


@pytest.mark.parametrize(
    ("subject", "columns", "found"),
    [
        (["before.who", "after.who"], [], ("before", "after")),
        (["After.who", "Before.who", "Before.seller"], ["AFTER.mail", "before"], ("Before", "After")),
        (["payload.after.a.who", "payload.before.a.who"], ["payload.after"], ("payload.before", "payload.after")),
        # A row without the other side is of the person as a whole.
        (["after.who"], [], ()),
        (["who"], [], ()),
        (["before", "after"], [], ()),
        # Something personal would stay next to the other side.
        (["before.who", "after.who"], ["mail"], ()),
        (["before.who", "after.who", "who"], [], ()),
        (["payload.before.who", "payload.after.who"], ["payload"], ()),
        (["before.who", "after.who"], ["aftermath.mail"], ()),
        (["a.before.who", "b.after.who"], [], ()),
        (["a.before.who", "a.after.who", "b.before.who", "b.after.who"], [], ()),
    ],
)
def test_sides_are_two_structs_that_have_all_that_is_personal(
    subject: list[str], columns: list[str], found: tuple[str, ...]
) -> None:
    assert sides(subject, columns) == found
