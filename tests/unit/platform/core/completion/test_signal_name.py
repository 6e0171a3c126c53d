"""Which objects are completion signals, and what kind their names give them."""

from __future__ import annotations

import pytest

from tidegate.platform.core.completion.signal_name import SignalKind, SignalName


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("_SUCCESS", SignalKind.FOLDER),
        ("*.done", SignalKind.FOLDER),
        ("manifest.json", SignalKind.MANIFEST),
        ("*manifest", SignalKind.MANIFEST),
        ("orders-*.json", SignalKind.MANIFEST),
        ("manifest.checksum", SignalKind.CHECKSUM),
        ("*.checksum", SignalKind.CHECKSUM),
    ],
)
def test_the_ending_of_the_name_gives_the_kind(pattern: str, kind: SignalKind) -> None:
    assert SignalName.parse(pattern).kind is kind


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "is not a name of a file"),
        ("runs/_SUCCESS", "is not a name of a file"),
        ("*", "matches too much"),
        ("*.*", "matches too much"),
        ("a*b*", "matches too much"),
        ("*.json", "would match the files of the table"),
        ("*.csv.gz", "would match the files of the table"),
        ("last.csv", "is the name of a file with rows"),
        ("last-*.parquet", "is the name of a file with rows"),
    ],
)
def test_a_pattern_that_would_take_files_with_rows_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SignalName.parse(pattern)


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("_SUCCESS", "runs/_SUCCESS", True),
        ("_SUCCESS", "_SUCCESS", True),
        ("_SUCCESS", "runs/day=1/_SUCCESS", True),
        ("_SUCCESS", "runs/_temporary/_SUCCESS", False),
        ("_SUCCESS", "runs/_SUCCESS.csv", False),
        ("*manifest", "unload/venue_manifest", True),
        ("*manifest", "unload/manifest", True),
        ("*manifest", "manifest/part-0", False),
        ("*.done", "a.b/x.done", True),
        ("*.done", "a.b/xadone", False),
        ("*.done", "a/line\nbreak.done", True),
    ],
)
def test_a_signal_is_found_by_its_name_in_any_folder_that_is_not_hidden(pattern: str, key: str, matches: bool) -> None:
    assert SignalName.parse(pattern).matches(key) is matches


def test_what_accompanies_a_signal_has_no_rows() -> None:
    checksum, manifest, folder = map(SignalName.parse, ("manifest.checksum", "manifest.json", "_SUCCESS"))
    assert checksum.manifest_of("a/manifest.checksum") == "a/manifest.json"
    assert manifest.manifest_of("a/manifest.json") == "a/manifest.json"
    assert checksum.accompanies("a/manifest.json")
    assert not checksum.accompanies("a/part.json")
    assert manifest.accompanies("a/manifest.checksum")
    assert not manifest.accompanies("a/manifest.json")
    assert not folder.accompanies("a/manifest.json")
    assert not folder.accompanies("a/_SUCCESS.checksum")
