"""Subjects that cannot be asked for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tidegate.assets.forgetting.forget import ForgetRefused, ask, look_for


@pytest.mark.parametrize("subject", ["", " 42", "42 ", "\t"])
def test_a_text_that_is_no_identity_is_refused_before_anything_is_read(subject: str) -> None:
    lake = cast(Any, None)
    with pytest.raises(ForgetRefused, match="an identity is empty, or begins or ends with a space"):
        ask(lake, "person", ["41", subject], "eva")
    with pytest.raises(ForgetRefused, match="an identity is empty"):
        look_for(lake, "person", [subject])
