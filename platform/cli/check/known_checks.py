"""Every check of `tidegate check` and `tidegate doctor`: its id, what it proves, and what to do when it fails.

A check is stated here once. `docs/reference/checks.md` has the same texts, and a test compares the two.
"""

from __future__ import annotations

from enum import Enum, unique

from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.cloud.requirements import RETENTION, VISIBILITY


@unique
class Check(Enum):
    """One check. It may run for several subjects, for example once for each queue.

    Attributes:
        id: area and name, for example `queue.retention`. It never changes, so scripts may rely on it.
        title: name of the check in the output; `{}` is replaced by the subject.
        proves: what is true when the check is ok.
        remedy: what to do when the check fails. The detail of a finding describes the single case.
    """

    CONFIGURATION = (
        "lake-yaml.valid",
        "configuration",
        "`lake.yaml` can be read and is valid as a whole",
        "correct the field at the line that the detail names",
    )
    AWS_CREDENTIALS = (
        "aws.credentials",
        "{}: region and credentials",
        "an AWS region and credentials are set; without them no other check runs",
        "set `AWS_REGION` and `AWS_PROFILE`, or the variables of AWS's default chain",
    )

    QUEUE_REACHABLE = (
        "queue.reachable",
        "queue {}: reachable",
        "the queue exists, and its attributes can be read",
        "create the queue, correct `queues`, or allow `sqs:GetQueueUrl` and `sqs:GetQueueAttributes`",
    )
    QUEUE_RECEIVE = (
        "queue.receive",
        "queue {}: messages can be received",
        "receiving messages is allowed; no message is received for it",
        "allow `sqs:ReceiveMessage` on the queue",
    )
    QUEUE_DELETE = (
        "queue.delete",
        "queue {}: messages can be deleted",
        "deleting messages is allowed",
        "allow `sqs:DeleteMessage` on the queue",
    )
    QUEUE_HIDE = (
        "queue.hide",
        "queue {}: messages can be kept hidden",
        "a slow tick can extend the time for which its messages are hidden",
        "allow `sqs:ChangeMessageVisibility` on the queue",
    )
    QUEUE_SEND = (
        "queue.send-again",
        "queue {}: messages can be sent again",
        "`tidegate redrive` can send dead letters and quarantined messages to the queue",
        "allow `sqs:SendMessage` on the queue",
    )
    QUEUE_VISIBILITY = (
        "queue.visibility-timeout",
        "queue {}: visibility timeout",
        "a received message stays hidden for as long as a tick lasts, and for an hour at most",
        f"set `{VISIBILITY.name}` of the queue to {VISIBILITY.seconds}",
    )
    QUEUE_RETENTION = (
        "queue.retention",
        "queue {}: retention",
        "messages are kept for four days or longer, so that intake may pause over a weekend",
        f"set `{RETENTION.name}` of the queue to {RETENTION.seconds}",
    )
    QUEUE_DEAD_LETTERS = (
        "queue.dead-letters",
        "queue {}: dead-letter queue",
        "the queue has a dead-letter queue, the one that `lake.yaml` names, and it can be read",
        "set `RedrivePolicy` of the queue, correct `dlq`, or allow the action on the dead-letter queue",
    )
    QUEUE_SENDERS = (
        "queue.senders",
        "queue {}: who may send",
        "only the queue's account, and services on its behalf, may send; a warning names other accounts",
        "restrict the queue's policy: principals, `aws:SourceArn` and `aws:SourceAccount`",
    )
    QUEUE_POLICY = (
        "queue.policy",
        "bucket {}: may send to the queue",
        "the policy of a queue lets the bucket's events in, from S3, SNS or EventBridge",
        "allow `sqs:SendMessage` to that service in the queue's policy",
    )

    WEBHOOK_SECRETS = (
        "webhook.secrets",
        "webhook {}: secrets",
        "this process finds the secrets of the webhook, and they can be used; the server may run elsewhere",
        "set the variable or write the file that the detail names, where `tidegate webhook` runs",
    )
    WEBHOOK_SIZE = (
        "webhook.size",
        "webhook {}: size of a body",
        "the queue accepts a message of `max_bytes` bytes",
        "raise `MaximumMessageSize` of the queue, or lower `max_bytes`",
    )

    FORGET_SECRET = (
        "forget.secret",
        "forgotten subjects, {}: secret",
        "this process finds the secret of the suppression list, and it is that of the requests to forget",
        "give every process that loads or merges the secret that the requests were written with",
    )

    FORGET_TABLES = (
        "forget.tables",
        "forgotten subjects, {}: tables",
        "each table in which persons were forgotten has its `personal.subject`, so their later rows stay out",
        "put `personal.subject` of the tables that the detail names back",
    )

    BUCKET_REACHABLE = (
        "bucket.reachable",
        "bucket {}: reachable",
        "the bucket exists in this region and can be listed; without that no other check of it runs",
        "create the bucket, correct `buckets`, set the bucket's region, or allow `s3:ListBucket`",
    )
    BUCKET_READ = (
        "bucket.read",
        "bucket {}: objects can be read",
        "objects of the bucket and their tags can be read",
        "allow `s3:GetObject` and `s3:GetObjectTagging` on the bucket's objects",
    )
    BUCKET_NOTIFICATIONS = (
        "bucket.notifications",
        "bucket {}: notification",
        "the bucket sends every event that its tables need towards a queue of `lake.yaml`",
        "add the notification, or the part of its filter, that the detail names",
    )
    BUCKET_LOGS = (
        "bucket.logs",
        "bucket {}: logs of registered tables",
        "the bucket's policy lets only Tidegate's roles write to the logs and copies of registered tables",
        "put the policy that `tidegate policy buckets` prints",
    )
    BUCKET_FOREIGN_TABLE = (
        "bucket.foreign-table",
        "bucket {}: no Delta table of somebody else's",
        "no prefix of a table holds a Delta table that this lake neither created nor adopted",
        "adopt that table (`tidegate adopt`), let its files go elsewhere, or leave its prefix out of the lake",
    )

    LAKE_REACHABLE = (
        "lake.reachable",
        "lake root {}/: reachable",
        "the bucket of the lake root exists and can be listed; without that no other check of the root runs",
        "create the bucket, correct `lake.root`, or allow `s3:ListBucket`",
    )
    LAKE_WRITE = (
        "lake.write",
        "lake root {}/: write, read, list, delete",
        "an object below the lake root can be written, read, tagged, listed and deleted",
        "allow the action that the detail names",
    )
    LAKE_CONDITIONAL_PUT = (
        "lake.conditional-put",
        "lake root {}/: conditional put",
        "of several writers that create one object at once, exactly one succeeds",
        "use AWS S3, or a store that honours `If-None-Match`; remove bucket policies that deny it",
    )
    LAKE_TABLES = (
        "lake.tables",
        "tables: listed",
        "the tables of the lake can be listed, discovered ones too",
        "allow the action, or restore the object, that the detail names",
    )
    LAKE_STRAYS = (
        "lake.strays",
        "lake root: nothing strange",
        "the inbox, the gathered hints and the list of tables contain only objects that Tidegate writes",
        "move the objects that the detail names away",
    )
    LAKE_OVERLAPS = (
        "lake.overlaps",
        "tables: no overlap with discovered ones",
        "no table that was discovered earlier shares files with a configured one, or with a folder that files move to",
        "configure another prefix or folder, or retire the discovered table as the detail says",
    )
    LAKE_REGISTERED = (
        "lake.registered",
        "tables: registered ones are in lake.yaml",
        "lake.yaml names each registered table, or registers what it discovers, so that printed policies have its log",
        "add each table with `mode: register`, or write `discovery: {parquet: register}`",
    )

    TABLE_LOG = (
        "table.log",
        "table {}: its log can be written",
        "the Delta log of a registered table can be written at the table's prefix",
        "allow `s3:PutObject`, `s3:AbortMultipartUpload` and `s3:DeleteObject` on its `_delta_log`",
    )
    TABLE_COPIES = (
        "table.copies",
        "table {}: copies of its files can be written",
        "files that Spark cannot read as they are can be copied below the prefix of a registered table",
        "allow `s3:PutObject`, `s3:AbortMultipartUpload` and `s3:DeleteObject` on its `_tidegate`",
    )
    TABLE_AFTER_LOAD = (
        "table.after-load",
        "table {}: after_load is allowed",
        "loaded files can be moved, deleted or tagged as `after_load` says; a warning where versions would prevent it",
        "allow the action that the detail names, or change `after_load`",
    )
    TABLE_OUTPUT = (
        "table.output",
        "table {}: its output can be written",
        "objects can be written below the folder of `output`",
        "allow the action that the detail names, create the bucket, or correct `output`",
    )
    TABLE_INVENTORY = (
        "table.inventory",
        "table {}: inventory",
        "a complete S3 Inventory of the table's bucket is where `inventory` says, and can be read",
        "correct `inventory`, or wait for the first delivery, up to 48 hours",
    )
    TABLE_INVENTORIES = (
        "table.inventories",
        "table {}: inventory configurations",
        "the buckets that `inventories` names have the inventory configuration, and the destination's policy lets S3 "
        "write; a warning names what differs",
        "run `tidegate inventory enable`, which shows the differences, and with --yes writes",
    )
    TABLE_BIRTH = (
        "table.birth",
        "table {}: as it was born",
        "`lake.yaml` says the mode and the types that the table began with, and its Delta log is there",
        "restore the setting or the object that the detail names, or start over as it says",
    )
    TABLE_SILVER_COLUMNS = (
        "table.silver-columns",
        "table {}: columns that silver names",
        "bronze has the columns that `silver` names, and its conditions hold for rows of bronze",
        "correct `keys`, `order` or a condition of `silver`",
    )
    TABLE_PERSONAL = (
        "table.personal",
        "table {}: columns that `personal` names",
        "rows of bronze can name the persons of `personal`; a warning names the columns that bronze does not have",
        "correct the name under `personal`; statistics that were written before stay in the log",
    )
    TABLE_CLUSTERING = (
        "table.clustering",
        "table {}: columns that `cluster_by` names",
        "the tables have each column that `cluster_by` names, and no folders",
        "correct or remove `cluster_by`; the table takes rows as before",
    )
    TABLE_DESCRIPTIONS = (
        "table.descriptions",
        "table {}: columns that have descriptions",
        "bronze or silver has each column that `descriptions` names; a warning names the others",
        "correct the name, or remove it from `descriptions`",
    )
    TABLE_LAST_RUN = (
        "table.last-run",
        "last run of {}",
        "no table's last run failed, nor a silver table's last merge, as far as Dagster can be asked",
        "fix what the first line of the error names; the table's next run clears the check",
    )

    ROUTE_TOPIC = (
        "route.topic",
        "route {}: topic",
        "the topic of the route exists, and publishing to it is allowed",
        "create the topic, correct `topic`, or allow `sns:GetTopicAttributes` and `sns:Publish` on it, in its own "
        "policy too if another account has it",
    )
    ROUTE_QUEUE = (
        "route.queue",
        "route {}: queue",
        "the queue of the route, or its `unmatched`, exists, and sending to it is allowed",
        "create the queue, correct the name, or allow `sqs:GetQueueUrl` and `sqs:SendMessage` on it, in its own policy "
        "too if another account has it",
    )
    ROUTE_TAGS = (
        "route.tags",
        "route {}: tagged queues",
        "queues can be found by their tag; a warning if no queue has it",
        "allow `tag:GetResources`, or tag a queue with an event type",
    )

    METRICS_PUBLISH = (
        "metrics.publish",
        "{}: metrics can be published",
        "metrics of the lake can be published; nothing is published for it",
        "allow `cloudwatch:PutMetricData` on the namespace `Tidegate`, or remove `metrics`",
    )

    CATALOG_WRITE = (
        "catalog.write",
        "catalog {}: entries can be written",
        "updating and deleting entries of the database is allowed; nothing is changed for it",
        "allow `glue:UpdateTable` and `glue:DeleteTable` on the database and its tables",
    )
    CATALOG_STEP = (
        "catalog.in-step",
        "catalog {}: in step",
        "every table has its entry in the Glue Data Catalog, with its columns, and nobody else has its name",
        "run `tidegate catalog sync`, which shows the differences, and with --yes writes",
    )

    SPARK_ANSWERS = (
        "spark.answers",
        "Spark {}: answers",
        "the Spark Connect server answers; without any no check that needs Spark runs",
        "start the server, or correct `SPARK_REMOTE` or `spark.servers`",
    )
    SPARK_START = (
        "spark.start",
        "{}: a server only for work",
        "there is no server, because there is no work; a check starts none, and no other check of Spark runs",
        "nothing: a run starts the server",
    )
    SPARK_PROCEDURES = (
        "spark.procedures",
        "Spark {}: procedures",
        "the server has Tidegate's procedures, `tidegate.system`",
        "start the server with the jars of `tidegate jars export` and `spark.sql.catalog.tidegate`",
    )
    SPARK_ROOT = (
        "spark.root",
        "Spark {}: lake root",
        "the server reads the lake root, with its own credentials",
        "give the server's role what `tidegate policy` prints, and see its region, its endpoint and the bucket",
    )
    SPARK_LOG_STORE = (
        "spark.log-store",
        "Spark {}: log store",
        "commits go through a log store that loses none, for `s3a://` and for `s3://`",
        "set the `spark.delta.logStore` key that the detail names",
    )
    SPARK_COMMITS = (
        "spark.commits",
        "Spark {}: log store of the lake",
        "the server commits by the log store of `lake.commits`; `DynamoDbLogStore` in a lake with `s3` is a warning",
        "give the server the log store that the detail names, or correct `lake.commits`",
    )
    SPARK_LISTING = (
        "spark.listing",
        "Spark {}: listings",
        "`delta.enableFastS3AListFrom` is off, so folders of a Delta log are not read as commits",
        "unset `delta.enableFastS3AListFrom` on the server",
    )
    SPARK_SETTINGS = (
        "spark.settings",
        "Spark {}: settings of values",
        "sessions of other clients have the settings that decide values in Tidegate's own: the zone of times, ANSI, …",
        "set on the server, or unset, what the detail names",
    )
    SPARK_STREAM = (
        "spark.stream",
        "Spark {}: reads of S3",
        "S3A's streams remember no objects, so an object that was overwritten is read as it is now",
        "set `spark.hadoop.fs.s3a.input.stream.type=classic` on the server",
    )
    SPARK_JARS = (
        "spark.jars",
        "Spark {}: jars",
        "the server has all jars, for its Spark, in the versions and of the bytes that this program was built with",
        "put the jars of `tidegate jars export` on the server's class path",
    )
    SPARK_COMMIT_TABLE = (
        "spark.commit-table",
        "Spark {}: DynamoDB table",
        "the server says which DynamoDB table coordinates its commits, and in which region",
        "set `fs.s3a.endpoint.region`, or `ddb.region` of the log store, on the server",
    )

    COMMIT_TABLE_STATE = (
        "commit-table.state",
        "DynamoDB table {}",
        "the DynamoDB table is active, its items expire, and no commit of another writer is possibly lost",
        f"commit once or create the table, enable TTL on `{CommitTable().expiry}`, or see `log.staged-commits`",
    )
    COMMIT_TABLE_OTHERS = (
        "commit-table.others",
        "DynamoDB table {}: other writers",
        "if the server commits without DynamoDB: the table of its settings was looked into, if it can be read",
        "allow `dynamodb:DescribeTable`, `DescribeTimeToLive` and `Query` on it, or unset the server's `ddb.tableName`",
    )
    LOG_LOCATION = (
        "log.location",
        "table {}: where it is",
        "the record that says where a table is can be read",
        "restore the object that the detail names",
    )
    LOG_REPAIR = (
        "log.repair",
        "{}: repair",
        "with `--repair`: pending commits were settled, and what dead writers left was closed and deleted",
        "fix what the first line of the error names, and repeat the command",
    )
    LOG_ENTRIES = (
        "log.entries",
        "{}: entries",
        "the entries in DynamoDB and the Delta log agree, and all writers use compatible log stores",
        "repeat with `--repair`; else do what the detail says",
    )
    LOG_STAGED = (
        "log.staged-commits",
        "{}: staged commits",
        "no staged commit of another writer is possibly lost",
        "compare its rows with the table, then delete it; see `docs/operate/log-store.md`",
    )

    def __init__(self, id: str, title: str, proves: str, remedy: str) -> None:
        self.id = id
        self.title = title
        self.proves = proves
        self.remedy = remedy
