"""The roles that a lake needs and their permissions, derived from `lake.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidegate.platform.cloud.address import Address, bucket_arn, folder_arn, objects_arn
from tidegate.platform.cloud.catalog_statement import catalog_statement
from tidegate.platform.cloud.export_statement import export_folders, export_statement
from tidegate.platform.cloud.inventory_statements import inventory_statements, upload_statements
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.cloud.wanted import CommitTable
from tidegate.platform.core.config.after_load import moves_to, takes_away
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.health.metrics import NAMESPACE
from tidegate.platform.core.keys.s3_address import S3Address

#: Folders below a registered table's prefix that have other objects than its files.
LOG_FOLDER, COPIES_FOLDER = "_delta_log/", "_tidegate/"

Statements = tuple[Statement, ...]


def dagster(config: LakeConfig) -> Statements:
    """Return what Dagster's processes need: intake, runs, sensors and jobs."""
    return _Needs(config).dagster()


def spark(config: LakeConfig) -> Statements:
    """Return what the Spark server needs: its driver and its executors."""
    return _Needs(config).spark()


def operator(config: LakeConfig) -> Statements:
    """Return what `tidegate check`, `doctor` and the other commands need in addition to Dagster's permissions."""
    return _Needs(config).operator()


def webhook(config: LakeConfig) -> Statements:
    """Return what `tidegate webhook` needs: nothing if the lake has no webhooks."""
    return _Needs(config).webhook()


#: The roles by their names on the command line.
ROLES: dict[str, Callable[[LakeConfig], Statements]] = {
    "dagster": dagster,
    "spark": spark,
    "operator": operator,
    "webhook": webhook,
}


def giving(config: LakeConfig, action: str, resource: str) -> tuple[str, Statement] | None:
    """Return the role and the statement that give a permission, or None.

    Args:
        config: the lake.
        action: for example `s3:PutObject`.
        resource: ARN of a resource, or a pattern of a statement. For a queue, its name is enough.
    """
    for role, statements in ROLES.items():
        for statement in statements(config):
            named = any(resource == arn or arn.endswith(f":{resource}") for arn in statement.resources)
            if statement.allows(action, resource) or (action in statement.actions and named):
                return role, statement
    return None


@dataclass(frozen=True)
class _Needs:
    """The statements of one lake."""

    config: LakeConfig

    def dagster(self) -> Statements:
        return _without_empty(
            *self._of_queues(),
            *self._of_routes(),
            *self._of_sources(),
            *self._of_after_load(),
            self._of_outputs(),
            export_statement(self.config, "s3:DeleteObject"),
            self._of_the_lake(),
            catalog_statement(self.config),
        )

    def _of_queues(self) -> Statements:
        return (
            Statement(
                "Queues",
                (
                    "sqs:ReceiveMessage",
                    "sqs:DeleteMessage",
                    "sqs:ChangeMessageVisibility",
                    "sqs:GetQueueAttributes",
                    *(("sqs:GetQueueUrl",) if any(queue.given_name for queue in self.config.every_queue) else ()),
                ),
                self._queues(),
                "each tick drains the queues, keeps its messages hidden, and reads how many are left",
            ),
            Statement(
                "DeadLetters",
                ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"),
                self._dead_letters(),
                "`lake_health` counts them, the check `is_empty` reads some, the sensor `dead_letters` and a "
                "redrive take them",
            ),
            Statement(
                "SendAgain",
                ("sqs:SendMessage",),
                self._queues(),
                "a redrive of messages or of dead letters sends them to the queue that they came from",
            ),
            Statement(
                "Metrics",
                ("cloudwatch:PutMetricData",),
                ("*",) if self.config.metrics else (),
                "`metrics: cloudwatch`",
                {"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
            ),
        )

    def _of_routes(self) -> Statements:
        routes, address = self.config.routes, Address.of(self.config)
        queues = [address.queue(route.queue) for route in routes if route.queue]
        queues += [address.queue(self.config.queues[0], route.unmatched) for route in routes if route.unmatched]
        tags = list(dict.fromkeys(route.queues_tagged for route in routes if route.queues_tagged))
        return (
            Statement(
                "Publish",
                ("sns:Publish",),
                tuple(dict.fromkeys(topic for route in routes for topic in route.topics)),
                "routes with a `topic`",
            ),
            Statement(
                "Forward",
                ("sqs:SendMessage", "sqs:GetQueueUrl"),
                tuple(dict.fromkeys(queues)),
                "routes with a `queue`, and queues of `unmatched`",
            ),
            *(
                Statement(
                    f"ForwardByTag{place or ''}",
                    ("sqs:SendMessage", "sqs:GetQueueUrl"),
                    (address.queue(self.config.queues[0], "*"),),
                    f"routes to the queues with the tag {tag}",
                    {"Null": {f"aws:ResourceTag/{tag}": "false"}},
                )
                for place, tag in enumerate(tags)
            ),
            Statement(
                "TagObjects",
                ("s3:PutObjectTagging",),
                tuple(objects_arn(bucket) for bucket in self.config.buckets if any(route.tag for route in routes)),
                "routes with `tag`",
            ),
            Statement(
                "WriteLines",
                ("s3:PutObject",),
                tuple(folder_arn(route.unwrap) for route in routes if route.unwrap),
                "routes with `unwrap`",
            ),
            Statement(
                "FindTaggedQueues",
                ("tag:GetResources",),
                ("*",) if tags else (),
                "routes with `queues_tagged`",
            ),
        )

    def _of_sources(self) -> Statements:
        return (
            Statement(
                "ListBuckets",
                ("s3:ListBucket",),
                self._buckets(*self._moved_to(), *self.config.output_roots),
                "listings, and so that S3 answers 404 for a key that is gone; without it, S3 answers 403",
            ),
            Statement(
                "ReadSources",
                ("s3:GetObject", "s3:GetObjectTagging"),
                tuple(objects_arn(bucket) for bucket in self.config.buckets),
                "reads of objects, footers and first lines; a copy of an object includes its tags",
            ),
            self._inventories(),
            Statement(
                "CopiesOfRegisteredTables",
                ("s3:PutObject", "s3:AbortMultipartUpload"),
                self._registered(COPIES_FOLDER),
                "a copy of each Parquet file that Spark would misread, such as one of pandas",
            ),
            *upload_statements(self.config.tables, reports_only=True),
        )

    def _of_after_load(self) -> Statements:
        return (
            Statement(
                "TakeAwayLoaded",
                ("s3:DeleteObject",),
                self._sources(lambda spec: takes_away(spec.after_load) and not spec.row_queue),
                "`after_load` that moves or deletes",
            ),
            Statement(
                "MoveLoaded",
                ("s3:GetObject", "s3:PutObject", "s3:PutObjectTagging"),
                tuple(folder_arn(folder) for folder in self._moved_to()),
                "`after_load` that moves: the copy with its tags, and whether a name is taken",
            ),
            Statement(
                "TagLoaded",
                ("s3:PutObjectTagging", "s3:GetObjectVersionTagging", "s3:PutObjectVersionTagging"),
                self._sources(lambda spec: spec.after_load not in ("keep", "delete") and not moves_to(spec.after_load)),
                "`after_load` that tags; in a bucket with versions S3 asks for the permissions of versions",
            ),
        )

    def _of_outputs(self) -> Statement:
        return Statement(
            "WriteOutputs",
            ("s3:PutObject", "s3:PutObjectTagging", "s3:GetObject"),
            tuple(map(folder_arn, self.config.output_roots)),
            "`output` of tables: copies of staged objects, and whether a copy is there already; manifests of `export`",
        )

    def _of_the_lake(self) -> Statement:
        return Statement(
            "Lake",
            (
                "s3:GetObject",
                "s3:PutObject",
                "s3:PutObjectTagging",
                "s3:DeleteObject",
                "s3:AbortMultipartUpload",
            ),
            (self._lake(),),
            "manifests, batches, records; copies of sources, with their tags, whose keys Spark cannot read",
        )

    def spark(self) -> Statements:
        return _without_empty(
            Statement(
                "ListBuckets",
                ("s3:ListBucket",),
                self._buckets(*export_folders(self.config)),
                "listings of logs, and so that S3 answers 404 for an object that is missing",
            ),
            Statement(
                "ReadSources",
                ("s3:GetObject",),
                tuple(objects_arn(bucket) for bucket in self.config.buckets),
                "files and logs of registered tables, files that are loaded",
            ),
            self._inventories(),
            Statement(
                "LogsOfRegisteredTables",
                ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
                self._registered(LOG_FOLDER),
                "the Delta log of a registered table is next to its files",
            ),
            Statement(
                "Lake",
                ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
                (self._lake(),),
                "loaded and silver tables, ledgers, rows in quarantine",
            ),
            export_statement(self.config, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
            Statement(
                "CoordinateCommits",
                (
                    "dynamodb:DescribeTable",
                    "dynamodb:Query",
                    "dynamodb:GetItem",
                    "dynamodb:PutItem",
                    "dynamodb:UpdateItem",
                ),
                (self._commit_table(),),
                "the log store: docs/operate/log-store.md",
            ),
            Statement(
                "MakeCommitTable",
                ("dynamodb:CreateTable", "dynamodb:UpdateTimeToLive"),
                (self._commit_table(),),
                "the first commit creates the table; not needed once it exists",
            ),
        )

    def operator(self) -> Statements:
        return _without_empty(
            *inventory_statements(self.config.tables),
            *upload_statements(self.config.tables),
            Statement(
                "Notifications",
                ("s3:GetBucketNotification",),
                tuple(bucket_arn(bucket) for bucket in self.config.buckets),
                "`check`",
            ),
            Statement(
                "Topics",
                ("sns:GetTopicAttributes",),
                tuple(dict.fromkeys(topic for route in self.config.routes for topic in route.topics)),
                "`check`",
            ),
            Statement(
                "DeadLetterQueues",
                ("sqs:GetQueueUrl",),
                self._dead_letters(),
                "`check`",
            ),
            Statement(
                "LogsOfRegisteredTables",
                ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
                self._registered(LOG_FOLDER),
                "`check` puts a probe there and deletes it, `doctor --repair` deletes what writers that died left",
            ),
            Statement(
                "Probes",
                ("s3:DeleteObject",),
                (*self._registered(COPIES_FOLDER), *map(folder_arn, (*self._moved_to(), *self.config.output_roots))),
                "`check` deletes its probes",
            ),
            Statement(
                "CommitTable",
                ("dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:Query", "dynamodb:UpdateItem"),
                (self._commit_table(),),
                "`doctor`; with `--repair` it closes entries",
            ),
        )

    def webhook(self) -> Statements:
        address = Address.of(self.config)
        specs = [self.config.row_queue(webhook.queue) for webhook in self.config.webhooks]
        named = ("sqs:GetQueueUrl",) if any(spec.given_name for spec in specs) else ()
        return _without_empty(
            Statement(
                "SendRows",
                ("sqs:SendMessage", *named),
                tuple(dict.fromkeys(address.queue(spec) for spec in specs)),
                "a delivery that was verified becomes a message; `/readyz` sends an empty call, which SQS refuses",
            )
        )

    def _queues(self) -> tuple[str, ...]:
        address = Address.of(self.config)
        return tuple(dict.fromkeys(address.queue(spec) for spec in self.config.every_queue))

    def _dead_letters(self) -> tuple[str, ...]:
        address = Address.of(self.config)
        return tuple(dict.fromkeys(address.queue(spec, spec.dlq) for spec in self.config.every_queue if spec.dlq))

    def _buckets(self, *folders: str) -> tuple[str, ...]:
        folders = (*folders, *(spec.inventory for spec in self.config.tables if spec.inventory))
        elsewhere = [S3Address.parse(folder).bucket for folder in folders]
        return tuple(map(bucket_arn, dict.fromkeys([*self.config.buckets, self.config.lake.bucket, *elsewhere])))

    def _moved_to(self) -> list[str]:
        return list(dict.fromkeys(folder for spec in self.config.tables if (folder := moves_to(spec.after_load))))

    def _inventories(self) -> Statement:
        folders = dict.fromkeys(spec.inventory for spec in self.config.tables if spec.inventory)
        return Statement(
            "ReadInventories",
            ("s3:GetObject",),
            tuple(folder_arn(folder) for folder in folders),
            "`inventory`: S3's list of a bucket",
        )

    def _lake(self) -> str:
        return objects_arn(self.config.lake.bucket, self.config.lake.prefix)

    def _commit_table(self) -> str:
        return Address.of(self.config).commit_table(CommitTable().name)

    def _sources(self, which: Callable[[TableSpec], bool]) -> tuple[str, ...]:
        return tuple(folder_arn(spec.prefix) for spec in self.config.tables if which(spec))

    def _registered(self, folder: str) -> tuple[str, ...]:
        """Return the ARNs of a folder of each registered table. With discovery, any prefix may become a table."""
        if self.config.discovery:
            anywhere = tuple(f"arn:aws:s3:::{bucket}/*/{folder}*" for bucket in self.config.buckets)
            # A whole bucket is a table only if `lake.yaml` has it, never by discovery.
            whole = [spec.table_key for spec in self.config.tables if _may_register(spec) and not spec.table_key.prefix]
            return (*anywhere, *(objects_arn(key.bucket, folder) for key in whole))
        keys = [spec.table_key for spec in self.config.tables if _may_register(spec)]
        return tuple(objects_arn(key.bucket, f"{key.prefix}{folder}") for key in keys)


def _may_register(spec: TableSpec) -> bool:
    """Return whether the table's files may be registered, as configured or by the ending of the first file."""
    return spec.registers is not False


def _without_empty(*statements: Statement) -> Statements:
    return tuple(statement for statement in statements if statement.resources)


def policy(statements: Iterable[Statement]) -> dict[str, object]:
    """Return the IAM policy with these statements."""
    return {"Version": "2012-10-17", "Statement": [statement.as_json() for statement in statements]}
