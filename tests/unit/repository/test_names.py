"""The rules of docs/internals/style.md for names and for the first word of a docstring."""

from __future__ import annotations

import pytest

from tests.support.names import module_problem, mood_findings, name_findings, restated_arguments
from tests.support.tracked import ROOT, tracked

PRODUCT = ("platform/", "assets/", "sensors/", "resources/", "tidegate/")
BAD_NAMES = {
    "def found(): ...\n": "participle",
    "class C:\n    def _listed(self): ...\n": "participle",
    "def f():\n    def counted(): ...\n": "participle",
    "def staying(): ...\n": "participle",
    "def newest(): ...\n": "result or the effect",
    "def of(): ...\n": "result or the effect",
    "def _of_rows(): ...\n": "begins with 'of'",
    "def in_turn(): ...\n": "begins with 'in'",
    "def no_answer(): ...\n": "begins with 'no'",
    "def last_given(): ...\n": "neither a noun nor a verb",
    "def _newest_sent_before(): ...\n": "neither a noun nor a verb",
    "def any_of(): ...\n": "neither a noun nor a verb",
    "def beside(): ...\n": "beside",
    "class TakenAway: ...\n": "take away",
    "def f(told): ...\n": "told",
    "tells_a_state = 1\n": "told",
    "def f(self):\n    self.mended = 1\n": "mend",
    "for one in range(3): ...\n": "noun",
    "x = [such for such in ()]\n": "noun",
    "match 1:\n    case well: ...\n": "noun",
}
GOOD_NAMES = (
    "def read(): ...\ndef feed(): ...\ndef parse_found(): ...\ndef row_counts(): ...\n",
    "class C:\n    @property\n    def found(self): ...\n    @cached_property\n    def in_table(self): ...\n",
    "@dg.asset\ndef forgotten(): ...\n",
    "def from_json(): ...\ndef to_row(): ...\ndef with_lake(): ...\ndef without_schema(): ...\n",
    "def after_load_folder(): ...\n",
    "def last_given_values(): ...\ndef find_failed(): ...\ndef with_rescued(): ...\n",
    "def test_it_is_found(): ...\nfound = 1\nx = file.tell()\n",
)
BAD_DOCSTRINGS = {
    'def f():\n    """Returns a row."""\n': "'Returns'",
    'def f():\n    """The row."""\n': "'The'",
    'class C:\n    async def f(self):\n        """Whether it is a row."""\n': "'Whether'",
    'def f():\n    """return a row."""\n': "'return'",
}
GOOD_DOCSTRINGS = (
    '"""The module."""\ndef f():\n    """Return a row."""\ndef g(): ...\n',
    'class C:\n    """A class."""\n\n    @property\n    def f(self):\n        """The row."""\n',
    'def test_f():\n    """The row is returned."""\n',
)


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("key: str", "the key."),
        ("config: LakeConfig", "the lake."),
        ("report: UploadsReport", "the uploads."),
        ("instance: dg.DagsterInstance", "Dagster's instance."),
        ("spec: TableSpec", "the table's configuration."),
    ],
)
def test_an_argument_whose_name_and_type_say_everything_is_found(argument: str, text: str) -> None:
    name, kind = argument.split(": ")
    function = f'def f({argument}):\n    """Read.\n\n    Args:\n        {name}: {text}\n    """\n'
    made = f'class C:\n    """Rows.\n\n    Args:\n        {name}: {text}\n    """\n\n'
    made += f"    def __init__(self, {argument}): ...\n"
    value = f'class C:\n    """Rows.\n\n    Attributes:\n        {name}: {text}\n    """\n\n    {name}: {kind}\n'
    assert [[finding.line for finding in restated_arguments(source)] for source in (function, made, value)] == [[5]] * 3
    said = text.replace("the ", "the decoded ") if "the" in text else "what records the runs."
    assert restated_arguments(function.replace(text, said)) == []
    assert restated_arguments(function.replace(text, f"{text[:-1]},\n            or None.")) == []


def test_no_argument_is_described_by_its_name_and_type_alone() -> None:
    found = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and name.startswith(PRODUCT):
            findings = restated_arguments(path.read_text(encoding="utf-8"))
            found += [f"{name}:{finding.line}: {finding.problem}" for finding in findings]
    assert not found, "docs/internals/style.md says what `Args:` has:\n" + "\n".join(found)


@pytest.mark.parametrize("source", BAD_NAMES)
def test_a_bad_name_is_found(source: str) -> None:
    (finding,) = name_findings(source, product=True)
    assert BAD_NAMES[source] in finding.problem


@pytest.mark.parametrize("source", GOOD_NAMES)
def test_a_good_name_is_left_alone(source: str) -> None:
    assert name_findings(source, product=True) == []


@pytest.mark.parametrize("source", BAD_DOCSTRINGS)
def test_a_docstring_that_does_not_begin_with_a_verb_is_found(source: str) -> None:
    (finding,) = mood_findings(source)
    assert BAD_DOCSTRINGS[source] in finding.problem


@pytest.mark.parametrize("source", GOOD_DOCSTRINGS)
def test_a_docstring_in_the_imperative_is_left_alone(source: str) -> None:
    assert mood_findings(source) == []


def test_names_say_what_a_function_does_or_gives() -> None:
    found = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py":
            findings = name_findings(path.read_text(encoding="utf-8"), product=name.startswith(PRODUCT))
            found += [f"{name}:{finding.line}: {finding.problem}" for finding in findings]
    assert not found, "docs/internals/style.md says how we name:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("late", "adjective"),
        ("united", "participle"),
        ("pending", "participle"),
        ("no_text", "preposition"),
        ("any_of", "preposition"),
        ("held_back", "preposition"),
        ("beside", "beside"),
    ],
)
def test_a_bad_name_of_a_module_is_found(name: str, problem: str) -> None:
    assert problem in (module_problem(name) or "")


@pytest.mark.parametrize("name", ["__init__", "after_load", "billing", "late_buckets", "merge", "pending_merge", "s3"])
def test_a_good_name_of_a_module_is_left_alone(name: str) -> None:
    assert module_problem(name) is None


def test_modules_have_the_nouns_of_what_is_in_them() -> None:
    found = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and name.startswith(PRODUCT) and (problem := module_problem(path.stem)):
            found.append(f"{name}: {problem}")
    assert not found, "docs/internals/style.md says how we name:\n" + "\n".join(found)


def test_docstrings_of_functions_are_in_the_imperative() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{finding.line}: {finding.problem}"
        for path in tracked()
        if path.suffix == ".py"
        for finding in mood_findings(path.read_text(encoding="utf-8"))
    ]
    assert not found, "docs/internals/style.md says how a docstring begins:\n" + "\n".join(found)
