"""The list of identities that `tidegate forget` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.forgetting.forget import listed


def test_a_list_of_another_program_has_the_same_identities(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_bytes(b"\xef\xbb\xbf42\r\n\r\n43\r\n")
    assert listed(file) == ["42", "43"]
    assert listed(None) == []


def test_a_space_that_would_keep_a_person_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("42\n43 \n")
    with pytest.raises(CommandError, match=r"line 2 of .* begins or ends with a space"):
        listed(file)
