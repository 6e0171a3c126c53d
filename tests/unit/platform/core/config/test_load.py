"""A `lake.yaml` that a person or a program damaged is read, or refused with its line; nothing else happens."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support.tracked import ROOT
from tidegate.platform.core.config.load import LakeConfigError, load_lake

_ENV = {"TIDEGATE_QUEUE_URL": "https://sqs/queue"}
_SHIPPED = ["lake.yaml", "platform/demo/lake.yaml"]
#: What takes the place of a value: other types, numbers without end, and characters with a meaning somewhere.
_VALUES = [
    "", "null", "~", "true", "-1", "0", "1e400", "-.inf", ".nan", "9" * 400, "0x10", "1_000", "2024-01-01", "[]", "{}",
    "[[]]", "{a: {}}", "[null]", "*a", "&a x", "!!binary aGk=", "!x y", "<<: *a", '"\\0"', '"\\ud800"', "'${A'", "${}",
    "s3://", "s3://b", "s3://b//k/", "s3a://b/k", "arn:aws:sqs:::", "a" * 5_000, "{" * 300, "- - - - -", "a: b: c",
    "cron", "* * * * *", "\u202e", "\ufeff", "ı", "%", "@", "`", "|", ">", "? x", "--- x",
]  # fmt: skip


def damaged(text: str, random: Random) -> str:
    """Return a text with one to four edits that a person could make, or an editor."""
    lines = text.splitlines()
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(lines))
        line = lines[place]
        match random.randrange(7):
            case 0:
                del lines[place]
            case 1:
                lines.insert(random.randrange(len(lines)), line)
            case 2:
                lines[place] = " " * random.randint(1, 3) + line if random.random() < 0.7 else line.lstrip()
            case 3 | 4:
                key, colon, _ = line.partition(":")
                lines[place] = f"{key}{colon} {random.choice(_VALUES)}" if colon else random.choice(_VALUES)
            case 5:
                at = random.randint(0, len(line))
                lines[place] = line[:at] + chr(random.choice([0, 9, 13, 34, 39, 58, 0x85, 0xFEFF, 0xD7FF])) + line[at:]
            case _:
                lines[place] = line[: random.randint(0, len(line))]
        if not lines:
            return ""
    return "\n".join(lines)


@pytest.mark.seeds(150, 5_000)
def test_a_damaged_file_is_read_or_refused_with_its_line(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    path = tmp_path / "lake.yaml"
    text = damaged((ROOT / _SHIPPED[seed % len(_SHIPPED)]).read_text(encoding="utf-8"), random)
    path.write_text(text, encoding="utf-8")
    refused: list[str] | None = None
    try:
        load_lake(path, _ENV)
    except LakeConfigError as error:
        refused = error.problems
    # Any other exception has failed the test.
    assert refused is None or refused
    assert [problem for problem in refused or () if not problem.startswith(f"{path}:")] == []
