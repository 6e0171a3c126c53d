"""The words and forms of docs/internals/style.md: in pages, docstrings, comments, error texts and names of tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.style import WORDS, comment_findings, java_findings, page_findings, python_findings
from tests.support.tracked import ROOT, tracked

#: Decisions are history.
EXEMPT = ("docs/decisions/",)
CHECKS = {".md": page_findings, ".py": python_findings, ".java": java_findings}
CHECKS |= dict.fromkeys((".yaml", ".toml", ".in", ".properties", ""), comment_findings)  # "": the Makefile

BAD_PAGES = {
    "The table begins anew.": "anew",
    "It is kept beside the log.": "beside",
    "S3 told Tidegate of the file.": "told, tell, tells",
    "The log tells the size.": "told, tell, tells",
    "Nothing is said of it.": "is said, has said",
    "Mend the file.": "mend",
    "Whoever\nloses reads again.": "whoever",
    "The file lies in the bucket.": "lies, lie, lay, lying",
    "Files lie there for a week.": "lies, lie, lay, lying",
    "The name stands in the log.": "stands",
    "It is to run each day.": "is to, are to",
    "The rows are to be kept.": "is to, are to",
    "One file is meant.": "is meant",
    "A plan is made. The same with a date is a partition.": "the same (without a noun)",
    "Read it again, for it is new.": "for (as a conjunction)",
    "The run goes on with the next.": "goes on, went on",
    "Bad rows are set apart.": "set apart",
    "It sets them apart.": "set apart",
    "The rule takes it away.": "take away",
    "Each look costs a request.": "a look (as a noun)",
    "It is read once more.": "once more",
    "A row that is no object is bad.": "is no",
    "Such files\nwere no CSV.": "is no",
}
GOOD_PAGES = (
    "Run `tidegate tells` and read `anew`.",
    "```\nanew and beside\n```\n",
    "A [page](beside.md) besides.",
    "The purpose is to the point; its aim is to stop.",
    "The same file comes again. The other table waits.",
    "A path, for the tests. Wait for it. This is for each table.",
    "The step look reads the ledger; the look is one request.",
    "`n` stands for the number. The stand of the lamp.",
    "No one can tell apart two copies of a believer's belief.",
    "Amend the commit, and go on a walk.",
    "There is no file. The old one is no longer read, and is no more than a copy.",
)
BAD_PYTHON = {
    'def f():\n    """Call AWS; the answer."""\n': "summary",
    'def f():\n    """Put a batch if none is there;\n    what is there then.\n    """\n': "summary",
    'def f():\n    """Read ``x``."""\n': "backticks",
    'def f(x):\n    """Read.\n\n    Args:\n        x: The name.\n    """\n': "capital",
    '"""Files that were told of."""\n': "told",
    '"""Files.\n\n    code\n\nIt was told.\n"""\n': "told",
    "x = 1  # beside y\n": "beside",
    "# This goes\n# on for ever.\nx = 1\n": "goes on",
    'raise ValueError("mend the file")\n': "mend",
    'raise ValueError(f"mend {name}")\n': "mend",
    'x = Option(help="Begin anew.")\n': "anew",
    "_MOST_FILES = 3\n": "MAX_",
    "def test_a_file_is_told_apart() -> None: ...\n": "told",
    "class C:\n    async def test_it_begins_anew(self) -> None: ...\n": "anew",
}
GOOD_PYTHON = (
    'def f():\n    """Read `x`; the message says why.\n\n    Body; the rest.\n    """\n'.replace(
        "; the message", ". The message"
    ),
    'x = "# beside anew told"\n',
    'told = "anew"\n',
    "def told() -> None: ...\ndef test_tellurium() -> None: ...\n",
    "x = 1  # `told` is a field\n",
    'def f():\n    """Read.\n\n    An example::\n\n        {"op": "mend"}\n\n        told\n    """\n',
    'def f(x):\n    """Read.\n\n    Args:\n        x: a name, S3 or not.\n    """\n',
)
BAD_JAVA = {
    "/** Begins anew. */ class A {}": "anew",
    "class A {\n    // It goes\n    // on there.\n}": "goes on",
    "/**\n * Rows are\n * set apart.\n */\nclass A {}": "set apart",
}
GOOD_JAVA = (
    'class A { String a = "// anew"; char b = \'"\'; String c = "beside"; }',
    "/** Reads {@code told} and {@link Anew}. */ class A {}",
    'class A { String a = """\n  // anew "beside"\n  """; }',
)


@pytest.mark.parametrize("text", BAD_PAGES)
def test_a_bad_sentence_of_a_page_is_found(text: str) -> None:
    assert [finding.problem.split(":")[0] for finding in page_findings(text)] == [BAD_PAGES[text]]


def test_each_word_of_the_list_has_a_bad_sentence() -> None:
    assert {word.avoid for word in WORDS} == set(BAD_PAGES.values())


@pytest.mark.parametrize("text", GOOD_PAGES)
def test_a_good_sentence_of_a_page_is_left_alone(text: str) -> None:
    assert page_findings(text) == []


@pytest.mark.parametrize("source", BAD_PYTHON)
def test_bad_python_is_found(source: str) -> None:
    (finding,) = python_findings(source)
    assert BAD_PYTHON[source] in finding.problem


@pytest.mark.parametrize("source", GOOD_PYTHON)
def test_good_python_is_left_alone(source: str) -> None:
    assert python_findings(source) == []


@pytest.mark.parametrize("source", BAD_JAVA)
def test_bad_java_is_found(source: str) -> None:
    (finding,) = java_findings(source)
    assert finding.problem.startswith(BAD_JAVA[source])


@pytest.mark.parametrize("source", GOOD_JAVA)
def test_good_java_is_left_alone(source: str) -> None:
    assert java_findings(source) == []


def test_comments_of_other_files_are_read() -> None:
    text = "told: 1  # it goes\nkey: 'beside'\n# on and on\nfile: x ## mend it\n# rows\n# are set\n# apart"
    assert [(finding.line, finding.problem.split(":")[0]) for finding in comment_findings(text)] == [
        (4, "mend"),
        (6, "set apart"),
    ]


def test_a_finding_has_the_line_of_the_word() -> None:
    assert [finding.line for finding in page_findings("# A\n\n```\nx\n```\n\nGood.\nIt begins anew.\n")] == [8]
    assert [finding.line for finding in python_findings("x = 1\n\n# Good,\n# and\n# anew.\n")] == [5]
    assert [finding.line for finding in java_findings("class A {\n/**\n * Good,\n * and anew.\n */\n}")] == [4]


def checked() -> list[Path]:
    """Return the files that are held to the list."""
    found = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in CHECKS and not name.startswith(EXEMPT):
            found.append(path)
    return found


def test_pages_docstrings_and_comments_are_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{finding.line}: {finding.problem}"
        for path in checked()
        for finding in CHECKS[path.suffix](path.read_text(encoding="utf-8"))
    ]
    assert not found, "docs/internals/style.md says how we write:\n" + "\n".join(found)


def test_the_page_has_the_word_list() -> None:
    page = (ROOT / "docs" / "internals" / "style.md").read_text(encoding="utf-8").split("## Words to avoid")[1]
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|", page.split("\n## ")[0], re.MULTILINE)
    assert rows == [(word.avoid, word.write) for word in WORDS]
