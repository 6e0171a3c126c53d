"""The documentation agrees with the code: fields, defaults, examples, links, commands."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import typer.main
from pydantic import BaseModel

import tidegate
from tests.support.aws_logs import LOGS
from tests.support.tracked import tracked
from tidegate.platform.cli.main import app
from tidegate.platform.cloud.queue_policy import allows_send
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.config.event_types import EventTypeRule
from tidegate.platform.core.config.lake import (
    CatalogSpec,
    CostsSpec,
    DiscoverySpec,
    IntakeSpec,
    LakeConfig,
    LakeSpec,
    MaintainSpec,
    QueueSpec,
)
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.output import OutputSpec
from tidegate.platform.core.config.personal import ForgetSpec, PersonalSpec
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.spark import SparkSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.config.text_options import JsonOptions, TextOptions
from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.health.alarms import template
from tidegate.platform.core.health.measurement import Health, QueueHealth, RouteHealth, TableHealth
from tidegate.platform.core.health.metrics import NAMESPACE, metric_data

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
#: Decisions up to this number are complete. Later numbers are given out in ranges.
_IN_USE = 126
SHELVES = ("start", "guides", "operate", "reference", "internals", "decisions")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
#: The model of each section that has fields, by its page in docs/reference and its heading.
MODELS: dict[tuple[str, str], type[BaseModel]] = {
    ("lake-yaml", "The lake"): LakeConfig,
    ("lake-yaml", "`lake`"): LakeSpec,
    ("lake-yaml", "`discovery`"): DiscoverySpec,
    ("lake-yaml-events", "`queues`"): QueueSpec,
    ("lake-yaml-events", "`intake`"): IntakeSpec,
    ("lake-yaml-upkeep", "`spark`"): SparkSpec,
    ("lake-yaml-events", "`event_types`"): EventTypeRule,
    ("lake-yaml-events", "`routes`"): RouteSpec,
    ("lake-yaml-events", "`webhooks`"): WebhookSpec,
    ("lake-yaml-tables", "`tables`"): TableSpec,
    ("lake-yaml-tables", "CSV and JSON"): CsvOptions,
    ("lake-yaml-tables", "Rows within an object of JSON"): JsonOptions,
    ("lake-yaml-tables", "Text"): TextOptions,
    ("lake-yaml-tables", "`output`"): OutputSpec,
    ("lake-yaml-silver", "`silver`"): SilverSpec,
    ("lake-yaml-upkeep", "`personal`"): PersonalSpec,
    ("lake-yaml-upkeep", "`forget`"): ForgetSpec,
    ("lake-yaml-upkeep", "`maintain`"): MaintainSpec,
    ("lake-yaml-upkeep", "`costs`"): CostsSpec,
    ("lake-yaml-upkeep", "`catalog`"): CatalogSpec,
}
#: Texts of the page for fields whose default is not a plain value.
SAID = {
    ("LakeConfig", "intake"): "see below",
    ("LakeConfig", "spark"): "see below",
    ("TableSpec", "reconcile_interval"): "the lake's",
    ("SilverSpec", "order"): "required, except with `from: debezium`",
    ("SilverSpec", "decode"): "none",
    ("SilverSpec", "rename"): "none",
    ("SilverSpec", "cast"): "none",
    ("SilverSpec", "derive"): "none",
    ("LakeConfig", "discovery"): "`true`",
    ("SparkSpec", "home"): "`.tidegate/spark-on-demand`",
    ("SparkSpec", "memory"): "half of the machine or container",
    ("TableSpec", "format"): "by each file's ending",
    ("TableSpec", "mode"): "Parquet `register`, others `load`",
    ("TableSpec", "columns"): "inferred",
    ("TableSpec", "partition_columns"): "`string` each",
    ("TableSpec", "policy"): "the lake's",
    ("TableSpec", "csv"): "RFC 4180",
    ("TableSpec", "json_options"): "an object is a row",
    ("TableSpec", "window"): "the lake's",
    ("TableSpec", "max_files"): "the lake's",
    ("TableSpec", "max_lag"): "the lake's",
    ("MaintainSpec", "quarantine"): "for ever",
    ("CostsSpec", "figures"): "none",
    ("CatalogSpec", "tables"): "all tables",
}


def blocks(language: str) -> list[tuple[Path, str]]:
    found = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(page, text) for page in PAGES for text in found.findall(page.read_text(encoding="utf-8"))]


def rows(page: str, heading: str) -> dict[str, str]:
    """Return the default by field, from the tables of a section of a page of docs/reference, up to the next one of its
    level.
    """
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(rf"^(##+) {re.escape(heading)}$\n(.*?)(?=^\1 |\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"docs/reference/{page}.md has no section {heading}"
    fields: list[tuple[str, str]] = []
    for table in re.findall(r"^\| field \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", found[0][1], re.MULTILINE):
        fields += re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|", table, re.MULTILINE)
    assert len(dict(fields)) == len(fields), f"docs/reference/{page}.md has a field of {heading} twice"
    return dict(fields)


def default(model: type[BaseModel], name: str) -> str:
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    if said := SAID.get((model.__name__, name)):
        return said
    value = field.get_default(call_default_factory=True)
    return "none" if value in (None, ()) else f"`{str(value).lower()}`"


@pytest.mark.parametrize(("page", "heading"), MODELS)
def test_every_field_is_there_with_its_default(page: str, heading: str) -> None:
    model = MODELS[page, heading]
    assert rows(page, heading) == {
        field.alias or name: default(model, name) for name, field in model.model_fields.items()
    }


def test_yaml_examples_load(tmp_path: Path) -> None:
    lakes = [(page, text) for page, text in blocks("yaml") if re.search(r"^lake:", text, re.MULTILINE)]
    assert len(lakes) >= 2
    for index, (_, text) in enumerate(lakes):
        path = tmp_path / f"{index}.yaml"
        path.write_text(text, encoding="utf-8")
        load_lake(path, {})


def test_the_page_of_logs_has_the_lines_of_each(tmp_path: Path) -> None:
    text = (DOCS / "guides" / "aws-logs.md").read_text(encoding="utf-8")
    tables = [
        line
        for block in re.findall(r"^```yaml\ntables:\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines(keepends=True)
    ]
    path = tmp_path / "lake.yaml"
    lake = "lake: {root: s3://acme-lake/t}\nqueues: [{name: events}]\nbuckets: [acme-logs]\n"
    path.write_text(f"{lake}tables:\n{''.join(tables)}", encoding="utf-8")
    specs = {spec.name: spec for spec in load_lake(path, {}).tables}
    wanted = {name: log.setting for name, log in LOGS.items()}
    for name, spec in specs.items():
        log = TableSpec.model_validate({"name": name, "prefix": spec.prefix, **wanted[name]})
        assert (spec.format, spec.text, spec.json_options) == (log.format, log.text, log.json_options)
        assert log.columns.items() <= spec.columns.items()
    assert set(specs) | {"nlb"} == set(wanted), "the page says in words what the preset nlb is"


def test_the_lake_to_start_from_loads() -> None:
    config = load_lake(ROOT / "lake.yaml", {"TIDEGATE_QUEUE_URL": "https://sqs.example.org/1/tidegate-events"})
    assert [(spec.name, spec.mode) for spec in config.tables] == [("orders", "register"), ("clicks", "load")]
    assert config.tables[0].silver is not None


def every_page() -> list[Path]:
    """Return all Markdown of the repository."""
    return [path for path in tracked() if path.suffix == ".md"]


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and anchor of each link of a page, except links to other sites."""
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", prose(page)):
        if "://" not in target:
            yield ((page.parent / target).resolve() if target else page), anchor


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub derives them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.add(next(anchor for anchor in (name, *(f"{name}-{n}" for n in range(1, 100))) if anchor not in found))
    return found


@pytest.mark.parametrize("page", every_page(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in links(page):
        assert target.is_file(), f"links to {target}, where no file is"
        assert not anchor or anchor in anchors(target), f"links to #{anchor}, but {target.name} has no such heading"


def test_pages_that_code_and_texts_name_are_there() -> None:
    named = re.compile(r"(?<![\w/.-])docs/[\w/.-]+\.(?:md|json|png)\b")
    for path in tracked():
        if path.suffix in (".py", ".java", ".md", ".toml", ".yaml") or path.name == "Makefile":
            gone = {name for name in named.findall(path.read_text(encoding="utf-8")) if not (ROOT / name).is_file()}
            assert not gone, path


def test_every_page_is_on_a_shelf_and_each_shelf_lists_its_pages() -> None:
    indexes = {DOCS / shelf / "README.md" for shelf in SHELVES}
    assert {page for page in DOCS.glob("*.md")} == {DOCS / "README.md"}
    assert {target for target, _ in links(DOCS / "README.md") if target.suffix == ".md"} == indexes
    for index in indexes:
        pages = {page for page in index.parent.rglob("*.md") if page != index}
        assert len(pages) > 1, f"{index.parent.name} has a single page"
        assert pages - {target for target, _ in links(index)} == set(), f"{index} does not list them"
    assert set(DOCS.rglob("*.md")) == {
        DOCS / "README.md",
        *(page for index in indexes for page in index.parent.rglob("*.md")),
    }


def numbers(text: str) -> set[int]:
    """Return the decisions that a text links to."""
    return {int(number) for number in re.findall(r"\((\d{4})-[\w-]+\.md\)", text)}


def test_the_index_of_decisions_has_each_with_its_title_status_and_amendments() -> None:
    row = re.compile(r"^\| (\d+) \| \[(.+?)\]\((\S+)\) \| (\S+) \| (\w+) \|(.*)\|(.*)\|$", re.MULTILINE)
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    rows = row.findall(index)
    files = sorted((DOCS / "decisions").glob("0*.md"))
    assert sorted(file for _, _, file, *_ in rows) == [file.name for file in files]
    assert len({number for number, *_ in rows}) == len(rows), "two decisions have one number"
    amends = {int(number): numbers(cell) for number, *_, cell, _ in rows}
    amended = {int(number): numbers(cell) for number, *_, cell in rows}
    for number, title, name, date, status, *_ in rows:
        text = (DOCS / "decisions" / name).read_text(encoding="utf-8")
        assert name.startswith(f"{int(number):04}-")
        assert text.startswith(f"# {number}. {title}\n"), name
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", date), name
        said = re.search(r"^Status: (\w+)(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
        assert said, f"{name} has no Status"
        assert said[1] == status, name
        assert numbers(said[2]) <= amends[int(number)] | amended[int(number)], name
    assert {(a, b) for a, amendments in amends.items() for b in amendments} == {
        (b, a) for a, amendments in amended.items() for b in amendments
    }
    missing = set(range(1, _IN_USE + 1)) - set(amends)
    assert set(map(int, re.findall(r"^There is no decision (\d+):", index, re.MULTILINE))) == missing


def test_the_pictures_are_pictures() -> None:
    pictures = [
        page.parent / target
        for page in PAGES
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert ROOT / "docs" / "images" / "lineage.png" in pictures
    for picture in pictures:
        content = picture.read_bytes()
        if picture.suffix == ".svg":
            assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg", picture
            continue
        assert content.startswith(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), f"{picture} is not a PNG"
        assert content.endswith(b"IEND\xaeB`\x82"), f"{picture} is cut off"
        width, height = struct.unpack(">II", content[16:24])
        assert 800 <= width <= 3200, picture
        assert 400 <= height <= 2000, picture


def _commands_in(text: str) -> Iterator[list[str]]:
    """Yield the words of each call of `tidegate` in the code of a page."""
    fenced = re.findall(r"^ *```[a-z]*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL))
    for code in [*"".join(fenced).replace("\\\n", " ").splitlines(), *(" ".join(span.split()) for span in spans)]:
        for call in re.findall(r"(?:^|[|;&($] ?|bin/|[A-Z_]=\S+ )tidegate ((?:[a-z]|--)[^|>&;#)]*)", code):
            yield call.split()


def test_commands_and_options_exist() -> None:
    # These are Click's objects; Typer has its own names for its copy of Click.
    all_commands: Any = typer.main.get_command(app)
    called = 0
    for page in PAGES:
        for words in _commands_in(page.read_text(encoding="utf-8")):
            command = all_commands
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            assert not getattr(command, "commands", None) or not words or words[0].startswith("-"), (page.name, words)
            known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
            given = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
            assert given <= known | {"--help"}, (page.name, command.name, given - known)
            called += 1
    assert called > 600


def test_pages_install_wheels_of_this_version_by_their_files() -> None:
    assert re.search(
        r"^pip install build/dist/tidegate_jars-", (ROOT / "docs/start/install.md").read_text(), re.MULTILINE
    )
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"pip install [^\n`]*--find-links", text), f"{page.name}: pip would look on the index, too"
        named = re.findall(r"\btidegate(?:_jars)?-(\d+\.\d+\.\d+)-(?:py3|\*)", text)
        assert set(named) <= {tidegate.__version__}, page.name


def test_invariants_are_numbered_as_the_code_cites_them() -> None:
    text = (ROOT / "docs" / "internals" / "architecture.md").read_text(encoding="utf-8")
    invariants = text.split("### Invariants")[1].split("\n### ")[0]
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \*\*", invariants, re.MULTILINE)]
    assert numbers == list(range(1, 13))
    sources = [
        path for folder in ("platform", "assets", "resources", "sensors") for path in (ROOT / folder).rglob("*.py")
    ]
    cited = {int(n) for path in sources for n in re.findall(r"[Ii]nvariant (\d+)", path.read_text(encoding="utf-8"))}
    assert cited
    assert cited <= set(numbers)
    for title in ("## 3. How bronze commits", "### Objects under the lake root"):
        assert title in text


AWS = (ROOT / "docs" / "operate" / "aws.md").read_text(encoding="utf-8")
POLICIES = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", AWS, re.MULTILINE | re.DOTALL)]


def test_the_queue_policy_of_the_docs_is_one_that_check_accepts() -> None:
    policy, queue = next(
        (policy, statement["Resource"])
        for policy in POLICIES
        for statement in policy["Statement"]
        if statement["Action"] == "sqs:SendMessage"
    )
    assert allows_send(policy, queue, "s3.amazonaws.com", "arn:aws:s3:::acme-landing")
    assert not allows_send(policy, queue, "s3.amazonaws.com", "arn:aws:s3:::somebody-else-s")


def test_the_role_may_publish_to_the_namespace_that_metrics_go_to() -> None:
    (statement,) = (
        statement
        for policy in POLICIES
        for statement in policy.get("Statement", [])
        if statement.get("Sid") == "Metrics"
    )
    assert statement["Condition"] == {"StringEquals": {"cloudwatch:namespace": NAMESPACE}}


def test_the_page_of_monitoring_names_each_metric_and_each_kind_of_alarm() -> None:
    page = (ROOT / "docs" / "operate" / "monitoring.md").read_text(encoding="utf-8")
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "q", "dlq": "d"}],
            "buckets": ["landing"],
            "tables": [{"name": "t", "prefix": "s3://landing/t/"}],
            "routes": [{"name": "r", "queue": {"name": "forwarded"}}],
        }
    )
    queues, routes = (QueueHealth("q", 0, 0, 0),), (RouteHealth("r", 1),)
    health = Health(0.0, (TableHealth("landing.t", "t", 1),), queues, routes=routes)
    section, alarms = page.split("## Metrics", 1)[1].split("## Alarms", 1)
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == {
        datum["MetricName"] for datum in metric_data(health, config)
    }
    made = [resource["Properties"] for resource in template(config)["Resources"].values()]
    sources = [alarm["Metrics"][0]["MetricStat"]["Metric"] if "Metrics" in alarm else alarm for alarm in made]
    watched = {(source["Namespace"], source["MetricName"]) for source in sources}
    assert set(re.findall(r"\| `(AWS/SQS|Tidegate)` `(\w+)`", alarms)) == watched


def test_the_docs_name_each_permission_that_check_asks_for() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "platform" / "cli" / "check").glob("*.py"))
    asked = {
        action for text in sources for action in re.findall(r'"((?:s3|sqs|sns|tag|cloudwatch):[A-Z][A-Za-z]+)",', text)
    }
    assert {"s3:ListBucket", "sqs:ReceiveMessage", "cloudwatch:PutMetricData"} <= asked
    routes = (ROOT / "docs" / "guides" / "routes.md").read_text(encoding="utf-8")
    assert {action for action in asked if action not in AWS + routes} == set()
