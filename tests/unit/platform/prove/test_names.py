"""The names of a proof, and which names of an account are taken for them."""

from __future__ import annotations

import pytest

from tidegate.platform.prove.names import Mark, RunNames, run_of

NAMES = RunNames("0123456789")


def test_names_are_those_of_their_run_and_fit_into_a_bucket_s() -> None:
    names = RunNames.draw()
    for name in (names.base, names.landing, names.lake, names.dlq):
        assert run_of(name) == names.id
        assert len(name) <= 63
    assert RunNames.draw() != RunNames.draw()


@pytest.mark.parametrize(
    "name",
    [
        "tidegate-prove-",
        "tidegate-prove-012345678",
        "tidegate-prove-01234567890",
        "tidegate-prove-0123456789-mine",
        "tidegate-prove-0123456789-lake-2",
        "tidegate-prove-012345678g-lake",
        "my-tidegate-prove-0123456789-lake",
        "tidegate-prove-0123456789-lake\n",
    ],
)
def test_a_similar_name_belongs_to_no_run(name: str) -> None:
    assert run_of(name) is None


def test_a_marker_is_read_as_it_was_written() -> None:
    mark = Mark.begin_run(NAMES)
    assert Mark.parse(f"{mark}\n") == mark
    kept = Mark.begin_run(NAMES, kept=True)
    assert (str(kept), Mark.parse(str(kept))) == (f"{mark.id}:{kept.made}:kept", kept)
    for text in ("0123456789:1:", "0123456789:1:lost"):
        assert Mark.parse(text) is None
    for text in ("", "0123456789", "0123456789:", ":1", "0123456789:1:2", "x" * 10 + ":1"):
        assert Mark.parse(text) is None
