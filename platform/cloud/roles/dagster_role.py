"""The permissions of Dagster's processes."""

from __future__ import annotations

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.roles.check_statements import check_statements
from tidegate.platform.cloud.roles.lake_arns import COPIES_FOLDER, LakeArns, require_own_account
from tidegate.platform.cloud.roles.shared_statements import (
    export_statement,
    kept_statements,
    read_inventories,
    upload_statements,
)
from tidegate.platform.cloud.statement import Statement, Statements, without_empty
from tidegate.platform.core.config.after_load import move_target, removes_source
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.health.metrics import NAMESPACE


def dagster(config: LakeConfig) -> Statements:
    """Return what Dagster's processes need: intake, runs, sensors and jobs, and `tidegate check` next to them."""
    arns = LakeArns(config)
    return without_empty(
        *_queues(config, arns),
        *_routes(config),
        *require_own_account(
            arns,
            *_sources(config, arns),
            *_after_load(config, arns),
            _outputs(config),
            export_statement(config, "s3:DeleteObject"),
            _lake(arns),
        ),
        *upload_statements(config, reports_only=True),
        *kept_statements(arns),
        catalog_statement(config),
        *check_statements(config),
    )


def _queues(config: LakeConfig, arns: LakeArns) -> Statements:
    return (
        Statement(
            "Queues",
            (
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:ChangeMessageVisibility",
                "sqs:GetQueueAttributes",
                *(("sqs:GetQueueUrl",) if any(queue.given_name for queue in config.every_queue) else ()),
            ),
            arns.queues(),
            "each tick drains the queues, keeps its messages hidden, and reads how many are left",
        ),
        Statement(
            "DeadLetters",
            ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"),
            arns.dead_letters(),
            "`lake_health` counts them, the check `is_empty` reads some, the sensor `dead_letters` and a "
            "redrive take them",
        ),
        Statement(
            "SendAgain",
            ("sqs:SendMessage",),
            arns.queues(),
            "a redrive of messages or of dead letters sends them to the queue that they came from",
        ),
        Statement(
            "Metrics",
            ("cloudwatch:PutMetricData",),
            ("*",) if config.metrics else (),
            "`metrics: cloudwatch`",
            {"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
        ),
    )


def _routes(config: LakeConfig) -> Statements:
    routes, address = config.routes, Address.from_config(config)
    queues = [address.queue(route.queue) for route in routes if route.queue]
    queues += [address.queue(config.queues[0], route.unmatched) for route in routes if route.unmatched]
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
                (address.queue(config.queues[0], "*"),),
                f"routes to the queues with the tag {tag}",
                {"Null": {f"aws:ResourceTag/{tag}": "false"}},
            )
            for place, tag in enumerate(tags)
        ),
        Statement(
            "TagObjects",
            ("s3:PutObjectTagging",),
            tuple(
                address.objects(bucket)
                for bucket in config.buckets
                if any(route.tag and route.bucket in {None, bucket} for route in routes)
            ),
            "routes with `tag`",
        ),
        Statement(
            "WriteLines",
            ("s3:PutObject",),
            tuple(address.folder(route.unwrap) for route in routes if route.unwrap),
            "routes with `unwrap`",
        ),
        Statement(
            "FindTaggedQueues",
            ("tag:GetResources",),
            ("*",) if tags else (),
            "routes with `queues_tagged`",
        ),
    )


def _sources(config: LakeConfig, arns: LakeArns) -> Statements:
    return (
        Statement(
            "ListBuckets",
            ("s3:ListBucket",),
            arns.buckets(*config.after_load_folders, *config.output_roots),
            "listings, and so that S3 answers 404 for a key that is gone; without it, S3 answers 403",
        ),
        Statement(
            "ReadSources",
            ("s3:GetObject", "s3:GetObjectTagging"),
            tuple(map(arns.address.objects, config.buckets)),
            "reads of objects, footers and first lines; a copy of an object includes its tags",
        ),
        read_inventories(config),
        Statement(
            "CopiesOfRegisteredTables",
            ("s3:PutObject", "s3:AbortMultipartUpload"),
            arns.registered_arns(COPIES_FOLDER),
            "a copy of each Parquet file that Spark would misread, such as one of pandas",
        ),
    )


def _after_load(config: LakeConfig, arns: LakeArns) -> Statements:
    return (
        Statement(
            "TakeAwayLoaded",
            ("s3:DeleteObject",),
            arns.sources(lambda spec: removes_source(spec.after_load) and not spec.row_queue),
            "`after_load` that moves or deletes",
        ),
        Statement(
            "MoveLoaded",
            ("s3:GetObject", "s3:PutObject", "s3:PutObjectTagging"),
            tuple(map(arns.address.folder, config.after_load_folders)),
            "`after_load` that moves: the copy with its tags, and whether a name is taken",
        ),
        Statement(
            "TagLoaded",
            ("s3:PutObjectTagging", "s3:GetObjectVersionTagging", "s3:PutObjectVersionTagging"),
            arns.sources(lambda spec: spec.after_load not in ("keep", "delete") and not move_target(spec.after_load)),
            "`after_load` that tags; in a bucket with versions S3 asks for the permissions of versions",
        ),
    )


def _outputs(config: LakeConfig) -> Statement:
    return Statement(
        "WriteOutputs",
        ("s3:PutObject", "s3:PutObjectTagging", "s3:GetObject", "s3:AbortMultipartUpload"),
        tuple(map(Address.from_config(config).folder, config.output_roots)),
        "`output` of tables: copies of staged objects, and whether a copy is there already; manifests of `export`",
    )


def _lake(arns: LakeArns) -> Statement:
    return Statement(
        "Lake",
        (
            "s3:GetObject",
            "s3:PutObject",
            "s3:PutObjectTagging",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
        ),
        arns.lake(),
        "manifests, batches, records; copies of sources, with their tags, whose keys Spark cannot read",
    )


def catalog_statement(config: LakeConfig) -> Statement:
    """Return the statement. It has no resources if the lake has no `catalog`."""
    catalog = config.catalog
    databases = [name for name in (catalog.bronze, catalog.silver) if name] if catalog else []
    return Statement(
        "Catalog",
        (
            "glue:GetTable",
            "glue:GetTables",
            "glue:CreateTable",
            "glue:UpdateTable",
            "glue:DeleteTable",
            "glue:CreateDatabase",
        ),
        Address.from_config(config).glue(*databases) if databases else (),
        "`catalog`: the entries of the tables, and their databases if they do not exist",
    )
