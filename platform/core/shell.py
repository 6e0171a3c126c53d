"""Commands of ours that a person copies into a shell."""

from __future__ import annotations

import shlex


def command(*words: str) -> str:
    """Return a command that a shell runs with these words, whatever their letters.

    A word that is not plain is between single quotes: between double ones an interactive shell replaces `!`, `$` and
    backticks, and what it puts there may end the quotes.

    Args:
        words: the command's, after `tidegate`.
    """
    return shlex.join(["tidegate", *words])
