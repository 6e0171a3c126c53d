"""What Dagster's pages show as Markdown is made by the functions that escape texts of others, and by nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from tidegate.assets.presentation.check_events import check_result, evaluation_event, kept_description, with_description
from tidegate.platform.core.markdown import sentence

ROOT = Path(__file__).resolve().parents[4]
_RESULTS = "assets/presentation/check_events.py"
_TEXTS = "platform/core/markdown.py"
_METADATA = "assets/presentation/markdown.py"
#: Who may construct what. All other code has to pass through a function of these modules.
MAKERS = {
    "AssetCheckResult": {_RESULTS},
    "AssetCheckEvaluation": {_RESULTS},
    "MetadataValue.md": {_METADATA},
    "MarkdownMetadataValue": {_METADATA},
    "TableColumn": {"assets/presentation/columns.py"},
    # Tables and plots are put together from `cell`, `prose` and numbers.
    "Markdown": {_TEXTS, _METADATA, _RESULTS, "assets/presentation/plot.py", "assets/health/report.py"},
}
#: Events whose descriptions the pages show. None has one, so no rule is needed.
WITHOUT = {"AssetMaterialization", "AssetObservation", "MaterializeResult", "ObserveResult"}


def wrong(source: str, path: str) -> Iterator[str]:
    """Yield what a module does to Markdown that only others may."""
    of_markdown = "tidegate.platform.core.markdown import" in source
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).removeprefix("dg.")
        has_description = any(keyword.arg == "description" for keyword in node.keywords)
        # A constructor may also be given to `map`.
        given = [ast.unparse(each).removeprefix("dg.") for each in (node.func, *node.args)]
        for maker in given if called != "isinstance" else ():
            if path not in MAKERS.get(maker, {path}):
                yield f"{path}:{node.lineno} constructs {maker}"
        if has_description and (called in WITHOUT or (called.endswith("._replace") and path != _RESULTS)):
            yield f"{path}:{node.lineno} gives {called} a description"
        if called in {"sentence", "together"} and of_markdown and path != _TEXTS:
            first = node.args[0]
            if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
                yield f"{path}:{node.lineno} has another template than a literal"
            # Two texts that touch could be a link together, though neither is one.
            elif re.search(r"\}\S*\{", first.value) or (
                called == "together" and " " not in first.value.replace("\n", " ")
            ):
                yield f"{path}:{node.lineno} has no space between two texts"


def test_markdown_is_made_by_what_escapes_texts_of_others() -> None:
    paths = [path for folder in ("assets", "sensors", "platform") for path in (ROOT / folder).rglob("*.py")]
    found = [
        each for path in paths for each in wrong(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    ]
    assert len(paths) > 100
    assert found == []


def test_each_way_around_the_rule_is_seen() -> None:
    source = """from tidegate.platform.core.markdown import Markdown, sentence, together
dg.AssetCheckResult(passed=True, description=name)
AssetCheckEvaluation(description=name)
dg.MetadataValue.md(name)
dg.TableColumn(name, "string", name)
Markdown(name)
dg.AssetMaterialization("t", description=name)
result._replace(description=name)
sentence(f"{name} is new")
sentence("{}{}", "https:", name)
together("", [name])
together(" ", map(Markdown, names))
"""
    found = list(wrong(source, "assets/other.py"))
    assert sorted(int(line.split(":")[1].split(" ")[0]) for line in found) == list(range(2, 13))


def test_a_result_is_kept_with_its_description() -> None:
    text = sentence("{} is new", "a_b")
    result = check_result(asset_key=dg.AssetKey("t"), check_name="c", passed=True, description=text)
    assert (evaluation_event(result).description, kept_description(evaluation_event(result))) == ("a\\_b is new", text)
    assert kept_description(evaluation_event(with_description(result, None))) is None
    with pytest.raises(AssertionError, match="only a step can log"):
        evaluation_event(dg.AssetCheckResult(passed=True))
