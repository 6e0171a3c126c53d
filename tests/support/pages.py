"""The commands and programs that a page of the documentation gives its readers, as they are written there."""

from __future__ import annotations

import re
from pathlib import Path


def code_blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of code of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def indented_lines(page: Path) -> list[str]:
    """Return the lines that a page has as code by their indentation alone."""
    return re.findall(r"(?<=\n\n) {4}(\S.*)(?=\n\n)", page.read_text(encoding="utf-8"))


def written_files(page: Path) -> dict[str, str]:
    """Return the content of each file that a page writes with `printf`, by its path."""
    found = re.findall(r"^printf '(.*)' > (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {path: text.replace("\\n", "\n") for text, path in found}
