"""The lake that takes the place of a deployment of oxbow, and what becomes of each of its parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.core.config.fields import TOPIC
from tidegate.platform.core.config.load import LakeConfigError, parse_lake
from tidegate.platform.core.config.yaml_document import flow
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.infer.guess import proposed_name
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.migrate.oxbow import LOCKS, Deployment, Function, Kind, Notice
from tidegate.platform.core.migrate.terraform import Resource, is_unknown, name_of

#: The table that delta-rs commits through if nothing names another one.
DEFAULT_LOG_TABLE = "delta_log"
#: What is written where the files do not say a name.
_UNKNOWN = "change-me"
_SHOW = "the output of `terraform show -json`"
#: A folder below a bucket.
_FOLDER = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[^/]")


@dataclass(frozen=True)
class Change:
    """What becomes of a part of the deployment.

    Attributes:
        address: of the resource.
        where: the file that has it, with the line if there is one.
        now: what it is.
        becomes: its counterpart, or why none is needed, or that there is none.
    """

    address: str
    where: str
    now: str
    becomes: str


@dataclass
class Migration:
    """A plan.

    Attributes:
        deployment: what is there.
        root: `lake.root`.
        queues: of `lake.yaml`.
        buckets: the source buckets.
        tables: of `lake.yaml`.
        webhooks: of `lake.yaml`.
        routes: of `lake.yaml`.
        catalog: database of Glue for bronze; empty if none is known.
        adopted: names of the tables that exist already, and whether objects that their logs do not name shall enter.
        log_table: the DynamoDB table through which the functions commit; empty if they use none.
        changes: of each part.
        problems: a sentence with what to do for each.
    """

    deployment: Deployment
    root: str = ""
    queues: list[dict[str, Any]] = field(default_factory=list)
    buckets: list[str] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    webhooks: list[dict[str, Any]] = field(default_factory=list)
    routes: list[dict[str, Any]] = field(default_factory=list)
    catalog: str = ""
    discovery: bool = False
    adopted: dict[str, bool] = field(default_factory=dict)
    log_table: str = ""
    changes: list[Change] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def lake_yaml(self) -> str:
        """Return the text of `lake.yaml`."""
        commits = "dynamodb" if self.log_table else "s3"
        lines = [
            f"lake: {{root: {flow(self.root)}, commits: {commits}}}   # the root's bucket is not a source",
            *_items("queues", self.queues),
            # Without a queue only listings find files.
            *(() if self.queues else ("reconcile_interval: 86400",)),
            f"buckets: {flow(self.buckets)}",
            # A file in a folder that no table has becomes a table of its own, as with oxbow.
            "discovery: {parquet: register}" if self.discovery else "discovery: false",
            *([f"catalog: {{bronze: {flow(self.catalog)}}}"] if self.catalog else ()),
            *(_items("routes", self.routes) if self.routes else ()),
            *_items("tables", self.tables),
            *(_items("webhooks", self.webhooks) if self.webhooks else ()),
        ]
        return "\n".join(lines) + "\n"


def _items(name: str, values: Sequence[Mapping[str, Any]]) -> list[str]:
    if not values:
        return [f"{name}: []"]
    lines = [f"{name}:"]
    for each in values:
        fields = [f"{key}: {flow(value)}" for key, value in each.items()]
        lines += [f"  - {fields[0]}", *(f"    {line}" for line in fields[1:])]
    return lines


def read_tables(text: str, name: str) -> list[str]:
    """Return the prefixes of Delta tables that a list names: their folders, or any key below `_delta_log/`.

    Args:
        text: a line for each, `s3://bucket/…`. Empty lines are passed over.
        name: of the file, for errors.

    Raises:
        BadValue: a line is not an address of S3.
    """
    found: dict[str, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        uri = line.strip().partition("_delta_log/")[0]
        if uri and not _FOLDER.match(uri):
            raise BadValue(f"{name}:{number}: {line.strip()!r} is not s3://bucket/folder/ of a Delta table")
        if uri:
            found[uri if uri.endswith("/") else f"{uri}/"] = None
    return list(found)


def plan_migration(deployment: Deployment, tables: Sequence[str], root: str | None) -> Migration:
    """Return the lake that takes a deployment's place.

    Args:
        deployment: what Terraform says.
        tables: prefixes of the Delta tables that oxbow made. Terraform does not know them.
        root: `lake.root`; None proposes one.

    Raises:
        BadValue: nothing of oxbow is there.
    """
    if not deployment.functions:
        hints = f": {'; '.join(deployment.unclear)}" if deployment.unclear else ""
        raise BadValue(f"no function of oxbow, and no other writer of delta-rs, is in these files{hints}")
    migration = Migration(deployment, problems=list(deployment.unclear))
    planner = _Planner(migration, tables)
    for function in deployment.functions:
        planner.take(function)
    planner.take_storage()
    if not migration.buckets:
        migration.buckets = [_UNKNOWN]
        migration.problems.append(
            "no bucket is known: add the file or state that has its aws_s3_bucket_notification, or name the tables "
            "with --tables"
        )
    taken = {each.get("prefix") for each in migration.tables}
    migration.problems += [
        f"no notification in these files covers {uri}: add the file or state that has it, or leave the table out"
        for uri in tables
        if uri not in taken
    ]
    migration.root = root or f"s3://{migration.buckets[0][:58]}-lake/tidegate"
    try:
        parse_lake(migration.lake_yaml(), "the printed lake.yaml", {})
    except LakeConfigError as error:
        migration.problems += error.problems
    migration.problems = list(dict.fromkeys(migration.problems))
    return migration


class _Planner:
    """Fills a migration, one function after another."""

    def __init__(self, migration: Migration, tables: Sequence[str]) -> None:
        self._to = migration
        self._deployment = migration.deployment
        self._tables = tables
        self._names: Counter[str] = Counter()
        self._takes: Mapping[Kind, Callable[[Function], str]] = {
            "oxbow": self._oxbow,
            "group-events": lambda _: (
                "nothing: not needed, because a table has one run at a time, and one event of S3 is enough for it"
            ),
            "sqs-ingest": self._sqs_ingest,
            "file-loader": self._file_loader,
            "webhook": self._webhook,
            "auto-tag": self._auto_tag,
            "glue-create": self._glue,
            "glue-sync": self._glue,
            "cdf-to-csv": lambda _: (
                "it may stay: it reads the logs of the tables, which Tidegate continues. The counterpart of its CSV "
                "is `export: {format: csv}` of a silver table (docs/guides/export.md)"
            ),
            "parquet-concat": lambda _: (
                "it may stay: to Tidegate it is a producer. For fewer commits alone it is not needed, because a run "
                "takes up to 10,000 files; for other readers there is `mode: concatenate` "
                "(docs/guides/concatenate.md)"
            ),
            "delta-rs": lambda _: (
                "no counterpart: it is a writer of your own. No other writer may add files to a table that Tidegate "
                "registers: let it write its files without a commit, or leave its table out "
                "(docs/guides/migrate-oxbow.md)"
            ),
        }

    def take(self, function: Function) -> None:
        """Say what becomes of a function, and add what takes its place."""
        self._known_text(function.name, "function_name", function.resource)
        becomes = self._takes[function.kind](function)
        now = "a writer of delta-rs" if function.kind == "delta-rs" else f"the function {function.kind} of oxbow"
        self._change(function.resource, now, becomes)

    def _change(self, resource: Resource, now: str, becomes: str) -> None:
        self._to.changes.append(Change(resource.address, resource.where, now, becomes))

    def _problem(self, text: str) -> None:
        self._to.problems.append(text)

    def _known_text(self, value: str, what: str, resource: Resource) -> str:
        """Return a value with what is not known in it replaced; then there is a problem that names it."""
        if not is_unknown(value):
            return value
        variables = sorted(set(re.findall(r"var\.[\w-]+", value)))
        give = f"give {' and '.join(variables)} in a .tfvars file, or {_SHOW}" if variables else f"give {_SHOW}"
        self._problem(f"{resource}: {what} is {value}, which these files do not say: {give}")
        return re.sub(r"\$\{.*\}", _UNKNOWN, value)

    def _bucket(self, bucket: str, resource: Resource) -> str:
        if not bucket:
            self._problem(f"{resource}: the bucket is not a name: give {_SHOW}")
        known = self._known_text(bucket, "the bucket", resource) or _UNKNOWN
        if known not in self._to.buckets:
            self._to.buckets.append(known)
        return known

    def _queue_names(self, name: str, resource: Resource) -> dict[str, str]:
        found = {"name": self._known_text(name, "the queue", resource)}
        queue = self._deployment.queues.get(name)
        if queue and queue.dlq:
            found["dlq"] = self._known_text(queue.dlq, "the dead-letter queue", queue.resource)
        return found

    def _name(self, prefix: str) -> str:
        name = proposed_name(prefix)
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"

    def _register(self, uri: str, *, enter: bool, name: str | None = None) -> None:
        if any(each.get("prefix") == uri for each in self._to.tables):
            return
        bucket, prefix = S3Address.parse(uri)
        name = name or self._name(prefix)
        self._to.tables.append({"name": name, "prefix": uri, "format": "parquet", "mode": "register"})
        self._to.adopted[name] = enter
        if bucket not in self._to.buckets:
            self._to.buckets.append(bucket)

    def _oxbow(self, function: Function) -> str:
        deployment, notices = self._deployment, self._deployment.notices_of(function)
        entries = deployment.entries(function)
        if not entries and not notices:
            self._problem(
                f"{function.resource}: nothing in these files sends events to it: add the file or state that has its "
                "aws_lambda_event_source_mapping"
            )
        for queue, _ in entries:
            self._event_queue(queue, [each for each in notices if each.queue == queue], function)
        for notice in notices:
            if notice.function:
                name = f"{notice.bucket.replace('.', '-')}-events"
                self._add_queue({"name": self._known_text(name, "the bucket", notice.resource)})
        self._refuse_two_ways(notices)
        for notice in notices:
            self._tables_of(notice)
        if not notices:
            for uri in self._tables:
                self._register(uri, enter=True)
        self._to.discovery = self._to.discovery or bool(self._tables) or any(not each.prefix for each in notices)
        evolves = "new columns of a file join the table, as with SCHEMA_EVOLUTION"
        if "SCHEMA_EVOLUTION" not in function.variables:
            evolves = (
                "new columns of a file join the table; `schema: strict` refuses such a file, and oxbow left them out"
            )
        guess = ""
        if any(each.prefix and not self._tables_below(each) for each in notices):
            guess = (
                ". Its table is taken to be at filter_prefix: if oxbow made one of each folder below it, name them "
                "with --tables"
            )
        return f"the runs of bronze: `mode: register`, after `tidegate adopt` of each table; {evolves}{guess}"

    def _tables_below(self, notice: Notice) -> list[str]:
        return [uri for uri in self._tables if uri.startswith(S3Address(notice.bucket, notice.prefix).s3)]

    def _add_queue(self, queue: dict[str, str]) -> None:
        if queue not in self._to.queues:
            self._to.queues.append(queue)

    def _event_queue(self, queue: str, notices: Sequence[Notice], function: Function) -> None:
        known = self._deployment.queues.get(queue)
        self._add_queue(self._queue_names(queue, known.resource if known else function.resource))
        if not notices:
            self._problem(
                f"{known.resource if known else function.resource}: no bucket in these files notifies the queue "
                f"{queue}: add the file or state that has its aws_s3_bucket_notification"
            )
        if known:
            vias = sorted({each.via for each in notices if each.via != "S3"})
            opened = f"; the envelopes of {' and '.join(vias)} are opened without a setting" if vias else ""
            self._change(
                known.resource,
                f"the queue that oxbow reads from {' and '.join(vias) or 'S3'}",
                f"the queue of lake.yaml: Tidegate takes it over with all that waits in it{opened}",
            )

    def _refuse_two_ways(self, notices: Sequence[Notice]) -> None:
        others = [
            each
            for function in self._deployment.functions
            if function.kind == "oxbow"
            for each in self._deployment.notices_of(function)
        ]
        for notice in notices:
            for other in others:
                ways = notice.queue or notice.function, other.queue or other.function
                prefixes = sorted((notice.prefix, other.prefix), key=len)
                if notice.bucket == other.bucket and ways[0] < ways[1] and prefixes[1].startswith(prefixes[0]):
                    self._problem(
                        f"{other.resource}: events of {S3Address(other.bucket, prefixes[1]).s3} go to {ways[0]} and to "
                        f"{ways[1]}: a lake needs one queue for a prefix; let one of them end before the switch"
                    )

    def _tables_of(self, notice: Notice) -> None:
        bucket = self._bucket(notice.bucket, notice.resource)
        prefix = self._known_text(notice.prefix, "filter_prefix", notice.resource)
        whole = S3Address(bucket, prefix).s3
        if listed := self._tables_below(notice):
            for uri in listed:
                self._register(uri, enter=True)
        elif prefix.endswith("/"):
            self._register(whole, enter=True)
        else:
            why = "the whole bucket" if not prefix else f"every key that begins with {prefix}"
            self._problem(
                f"{notice.resource}: oxbow is notified of {why}, and made a table of each folder: name the tables of "
                f"{whole} with --tables (docs/guides/migrate-oxbow.md has the command that lists them)"
            )

    def _delta_table(self, function: Function) -> str | None:
        uri = function.variables.get("DELTA_TABLE_URI")
        uri = uri if isinstance(uri, str) else ""
        if is_unknown(uri) or not re.match("s3://[^/]+/[^/]", uri):
            self._problem(
                f"{function.resource}: DELTA_TABLE_URI does not say s3://bucket/folder of the table: give {_SHOW}"
            )
            return None
        return uri if uri.endswith("/") else f"{uri}/"

    def _row_table(self, function: Function, queue: dict[str, str]) -> str:
        uri = self._delta_table(function)
        if uri is None:
            return "a row queue (docs/guides/row-queues.md), once its table is known"
        name = self._name(S3Address.parse(uri)[1])
        self._to.tables.append({"name": name, "row_queue": queue})
        self._register(uri, enter=False, name=f"{name}_before")
        return (
            f"the row queue of bronze.{name}, a new table. The rows so far stay where they are, as "
            f"bronze.{name}_before: query both with UNION ALL"
        )

    def _sqs_ingest(self, function: Function) -> str:
        sources = self._deployment.sources.get(function.name, ())
        if not sources:
            self._problem(
                f"{function.resource}: no queue in these files calls it: add its aws_lambda_event_source_mapping"
            )
            return "a row queue (docs/guides/row-queues.md), once its queue is known"
        queue = self._queue_names(sources[0][0], function.resource)
        for each in self._deployment.resources:
            subscribed = each.type == "aws_sns_topic_subscription" and name_of(each.text("endpoint")) == sources[0][0]
            if subscribed and not each.values.get("raw_message_delivery"):
                if re.fullmatch(TOPIC, each.text("topic_arn")):
                    queue["topic"] = each.text("topic_arn")
                else:
                    self._problem(f"{each}: `topic` of the row queue needs the topic's ARN: give {_SHOW}")
        if "UNWRAP_SNS_ENVELOPE" in function.variables:
            self._problem(
                f"{function.resource}: with UNWRAP_SNS_ENVELOPE a message has several rows in `Records`, and a row "
                "queue takes one row a message: let the producer send one, or write files"
            )
        return self._row_table(function, queue)

    def _webhook(self, function: Function) -> str:
        name = re.sub(r"[^a-z0-9_-]+", "-", function.name.lower()).strip("-_") or "webhook"
        queue = {"name": f"{name}-rows"[:80], "dlq": f"{name}-rows-dlq"[:80]}
        becomes = self._row_table(function, queue)
        self._to.webhooks.append(
            {
                "name": name,
                "queue": queue["name"],
                "verification": "secret",
                "header": "authorization",
                "secrets": [{"env": "PRESHARED_WEBHOOK_SECRET"}],
            }
        )
        return (
            f"`tidegate webhook` with the same secret and header, and {becomes}. A request with several lines is "
            "refused: a webhook is one row"
        )

    def _file_loader(self, function: Function) -> str:
        notices = self._deployment.notices_of(function)
        names = []
        for queue, _ in self._deployment.entries(function):
            self._event_queue(queue, [each for each in notices if each.queue == queue], function)
        for notice in notices:
            bucket = self._bucket(notice.bucket, notice.resource)
            prefix = self._known_text(notice.prefix, "filter_prefix", notice.resource)
            if not prefix.endswith("/"):
                self._problem(
                    f"{notice.resource}: a table needs a folder, and file-loader is notified of "
                    f"{S3Address(bucket, prefix).s3}*: write the prefix of its files into lake.yaml"
                )
                continue
            names.append(self._name(prefix))
            uri = S3Address(bucket, prefix).s3
            self._to.tables.append({"name": names[-1], "prefix": uri, "format": "json", "mode": "load"})
        old = self._delta_table(function)
        loads = " and ".join(f"bronze.{name}" for name in names) or "a table"
        return (
            f"{loads}, `mode: load`, a new table that reads the files again: *Materialize* it once. The table at "
            f"{old} stays as it is, with the rows of files that S3 no longer has"
        )

    def _auto_tag(self, function: Function) -> str:
        notices = [each for each in self._deployment.notices_of(function) if "." in each.suffix]
        for each in notices:
            bucket = self._bucket(each.bucket, each.resource)
            key = {"key": f"{each.prefix}**"} if each.prefix.endswith("/") else {}
            route = {
                "name": f"auto-tag-{len(self._to.routes) + 1}",
                "bucket": bucket,
                **key,
                "tag": {"fileext": each.suffix.rpartition(".")[2]},
            }
            self._to.routes.append(route)
        if notices:
            return "a route with `tag` (docs/guides/routes.md); other tags of an object stay, which auto-tag replaced"
        return (
            "no counterpart: the tag is the ending of each key, which only filter_suffix would say here, and a route "
            "tags by folders. It may stay, with a queue of its own"
        )

    def _glue(self, function: Function) -> str:
        databases = [
            each.text("name") for each in self._deployment.resources if each.type == "aws_glue_catalog_database"
        ]
        if len(databases) == 1 and not is_unknown(databases[0]):
            self._to.catalog = databases[0]
            return (
                "`catalog` of lake.yaml (docs/guides/catalog.md). An entry that oxbow made stays its own: delete it "
                "when no query needs it, and `tidegate catalog sync --yes` makes Tidegate's"
            )
        return (
            "`catalog: {bronze: <database>}` in lake.yaml (docs/guides/catalog.md), one database for all tables: "
            "GLUE_PATH_REGEX has no counterpart. It may stay as long: it reads the logs that Tidegate continues"
        )

    def take_storage(self) -> None:
        """Say what becomes of queues behind queues, DynamoDB tables and alarms."""
        deployment, used = self._deployment, self._to
        taken = {name for each in used.queues for name in each.values()}
        taken |= {name for each in used.tables for name in (each.get("row_queue") or {}).values()}
        described = {each.address for each in used.changes}
        for name, queue in deployment.queues.items():
            dead = next((each for each in deployment.queues.values() if each.dlq == name), None)
            if queue.resource.address in described:
                continue
            if name in taken:
                now = f"the dead-letter queue of {dead.name}" if dead else "the queue of rows"
                becomes = (
                    "`dlq` of lake.yaml; `tidegate redrive --dlq` sends its messages again" if dead else "`row_queue`"
                )
                self._change(queue.resource, now, becomes)
            elif queue.resource.values.get("fifo_queue"):
                self._change(queue.resource, "a FIFO queue", "nothing: not needed, because no order of events is")
        self._take_lock_tables()
        names = {each.name for each in deployment.functions} | set(deployment.queues)
        for each in deployment.resources:
            dimensions = each.values.get("dimensions")
            watched = set(map(name_of, dimensions.values())) if isinstance(dimensions, Mapping) else set()
            if each.type == "aws_cloudwatch_metric_alarm" and names & watched:
                becomes = "`tidegate alarms` prints those of the lake (docs/operate/monitoring.md)"
                self._change(each, "an alarm", becomes)

    def _take_lock_tables(self) -> None:
        deployment, used = self._deployment, self._to
        named: dict[str, Function] = {}
        for function in deployment.functions:
            if any(each in function.variables for each in LOCKS):
                table = str(function.variables.get("DELTA_DYNAMO_TABLE_NAME") or DEFAULT_LOG_TABLE)
                named.setdefault(self._known_text(table, "DELTA_DYNAMO_TABLE_NAME", function.resource), function)
        for name, function in list(named.items()):
            resource = deployment.lock_tables.get(name)
            keys = (resource.text("hash_key"), resource.text("range_key")) if resource else None
            if keys and keys != ("tablePath", "fileName"):
                self._problem(
                    f"{function.resource}: DELTA_DYNAMO_TABLE_NAME is {name}, whose key is {keys[0]} and not "
                    "tablePath and fileName: delta-rs cannot commit through it, so look which table the function "
                    "really uses"
                )
                del named[name]
        if len(named) > 1:
            self._problem(
                f"the functions commit through {' and '.join(sorted(named))}: a lake has one table; switch the tables "
                "of one of them after the other, each with a lake of its own, or give all functions one table first"
            )
        used.log_table = next(iter(named), "")
        for name, resource in deployment.lock_tables.items():
            if name == used.log_table:
                self._change(
                    resource, "the log table of delta-rs", "the commit table of the lake: same keys, same protocol"
                )
            elif resource.text("hash_key") == "key":
                becomes = "nothing: not needed, because the first commit of a log is created on a condition"
                self._change(resource, "the lock for new tables of oxbow", becomes)
