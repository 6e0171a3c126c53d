"""Checks of the lake root, registered prefixes, the Spark server, and discovered tables."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tidegate.platform.cli.check.findings import (
    Failed,
    Finding,
    Warned,
    arns_of,
    call_permitted,
    make_finding,
    reach_bucket,
    try_call,
)
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cloud.roles.lake_arns import COPIES_FOLDER, LOG_FOLDER, PROBE
from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.config.after_load import move_target
from tidegate.platform.core.config.commits import Commits, commits_of_class
from tidegate.platform.core.config.drift import drift
from tidegate.platform.core.config.lake import LakeConfig, TableSpec
from tidegate.platform.core.foreign_json import foreign_json
from tidegate.platform.core.keys.object_key import conventional_prefix
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.wording import first_line, first_texts
from tidegate.platform.lake.aws.proofs import prove_conditional_put
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.batches import GenerationRetired
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import isolated_session, probe
from tidegate.platform.lake.spark.versions import SPARKS, spark_minor
from tidegate.platform.lake.threads import parallel

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

#: Tables that a detail names.
_NAMED = 5
#: Spark's conditions of a procedure that it does not have. Any other error is of the call.
_NO_PROCEDURE = ("UNRESOLVED_ROUTINE", "FAILED_TO_LOAD_ROUTINE", "MISSING_CATALOG_ABILITY.PROCEDURES")

#: Bytes of a first commit that may be ours: it has an add of each file of a table's first batch.
_MAX_COMMIT_BYTES = 128 << 20


def check_root(s3: S3Client, store: LakeStore) -> Iterator[Finding]:
    """Check that the lake root can be written, listed, read and deleted, and that conditional puts work."""
    root = S3Address(store.bucket, store.key("")).s3.rstrip("/")
    first = make_finding(Check.LAKE_REACHABLE, root, lambda: _check_reachable(s3, store.bucket))
    yield first
    if not first.ok:
        return
    probed = make_finding(Check.LAKE_WRITE, root, lambda: _write(s3, store.bucket, store.key("")))
    yield probed
    if probed.ok:
        yield make_finding(Check.LAKE_CONDITIONAL_PUT, root, lambda: _check_conditional_put(store))


def check_registered(s3: S3Client, spec: TableSpec) -> Iterator[Finding]:
    """Check that the Delta log and copies of files can be written at the prefix of a registered table."""
    key = spec.table_key
    for check, folder in ((Check.TABLE_LOG, LOG_FOLDER), (Check.TABLE_COPIES, COPIES_FOLDER)):
        yield make_finding(
            check,
            spec.name,
            lambda folder=folder: _write(s3, key.bucket, f"{key.prefix}{folder}", reads=False),  # type: ignore[misc]
        )


def check_output(s3: S3Client, spec: TableSpec, folder: str) -> Finding:
    """Check that objects can be written to the output of a table."""

    def writes() -> str:
        bucket, key = S3Address.parse(folder)
        _check_reachable(s3, bucket, "output")
        return _write(s3, bucket, key)

    return make_finding(Check.TABLE_OUTPUT, spec.name, writes)


def check_born(store: LakeStore, spec: TableSpec) -> Finding:
    """Check that lake.yaml agrees with what was fixed at a table's birth, and that the table's log exists."""
    return make_finding(Check.TABLE_BIRTH, spec.name, lambda: _check_birth_record(store, spec))


def check_spark(
    remote: SparkRemote,
    store: LakeStore,
    explain: Callable[[SparkUnreachable], str] = str,
    commits: Commits = "dynamodb",
) -> Iterator[Finding]:
    """Check that the Spark Connect server answers, has our procedures, and commits by the log store of the lake.

    Args:
        remote: the server.
        commits: the value of `lake.commits`.
        explain: returns what to do when the server does not answer.
    """

    def check_answer() -> str:
        try:
            found = probe(remote)
        except SparkUnreachable as error:
            raise Failed(explain(error)) from None
        if spark_minor(found) not in SPARKS:
            raise Failed(
                f"version {found}: Tidegate's jars are built for Spark {' and '.join(SPARKS)}, and use parts of Spark "
                "that differ in each; run a server of one of these versions"
            )
        return f"version {found}"

    first = make_finding(Check.SPARK_ANSWERS, str(remote), check_answer)
    yield first
    if first.ok:
        error = _table_state_error(remote, store)
        yield make_finding(Check.SPARK_PROCEDURES, str(remote), lambda: _require_procedures(error))
        if error is None or not _lacks_procedures(error):
            yield make_finding(Check.SPARK_ROOT, str(remote), lambda: _require_root(error, store))
        yield make_finding(Check.SPARK_COMMITS, str(remote), lambda: _check_commits(remote, commits))


def check_discovered(config: LakeConfig, known: Collection[TableKey]) -> Finding:
    """Check that no table that was discovered earlier overlaps a configured prefix."""

    def check_separation() -> str:
        for key, spec in config.keys().items():
            for other in sorted(known):
                if other == key or other.bucket != key.bucket or not _shares_files(other.prefix, key.prefix):
                    continue
                remedy = (
                    f"{spec.name} takes its files from now on. Materialize it, and when nobody reads "
                    f"bronze.{other.sql_name} any more, move {config.lake.root}/tables/{other}.json away"
                    if other.prefix.startswith(key.prefix)
                    else "configure that prefix instead, or give this table another"
                )
                raise Failed(
                    f"{spec.prefix} of table {spec.name} overlaps {other.uri}, which was discovered as a table "
                    f"earlier, and two tables never share a file: {remedy}"
                )
        for spec in config.tables:
            folder = move_target(spec.after_load) or ""
            for other in sorted(known):
                if folder and (folder.startswith(other.uri) or other.uri.startswith(folder)):
                    raise Failed(
                        f"after_load of table {spec.name} moves files to {folder}, which overlaps {other.uri}, a table "
                        "that was discovered earlier: move them elsewhere"
                    )
        return f"tables in the lake: {len(known)}, configured: {len(config.tables)}"

    return make_finding(Check.LAKE_OVERLAPS, config.lake.root, check_separation)


def check_registered_by_discovery(store: LakeStore, config: LakeConfig, known: Collection[TableKey]) -> Finding:
    """Check that lake.yaml names each registered table, unless it lets discovery register.

    A table keeps the mode of its birth. Its log is at its prefix, which is in no printed policy otherwise.
    """

    def check_names() -> str:
        if config.discovery_registers:
            return "`discovery` registers Parquet"
        others = sorted(key.encode() for key in known if config.table_for(key) is None)
        births = zip(others, parallel(store.births.read, others), strict=True)
        found = [table_key for table_key, birth in births if birth and birth.registered]
        if found:
            raise Warned(
                f"registered, and not in lake.yaml: {', '.join(first_texts(found, _NAMED))}. They keep the mode of "
                "their birth, and policies that `tidegate policy` prints have no statement for their logs: add each to "
                "lake.yaml with `mode: register`, or write `discovery: {parquet: register}`"
            )
        return "each one"

    return make_finding(Check.LAKE_REGISTERED, config.lake.root, check_names)


def _shares_files(discovered: str, configured: str) -> bool:
    """Return whether a discovered table has had files that a configured prefix takes.

    It has the files of its own folder, and of folders of dates and `k=v` in it: not those of tables inside it.
    """
    inside = discovered.startswith(configured)
    return inside or (configured.startswith(discovered) and conventional_prefix(f"{configured}x") == discovered)


def _check_birth_record(store: LakeStore, spec: TableSpec) -> str:
    table_key = spec.table_key.encode()
    birth = store.births.read(table_key)
    if birth is None:
        return "not born yet"
    try:
        began = store.batches(birth.generation_folder or table_key).birth()
    except GenerationRetired as retired:
        raise Failed(str(retired)) from None
    if differences := drift(spec, birth, began):
        raise Failed("; ".join(differences))
    log = S3Address.parse_s3a(f"{birth.location}/_delta_log/")
    if (began or birth.adopted) and not birth.output and store.objects.is_empty(*log):
        raise Failed(
            f"there is nothing at {log}, and the table has batches. If a run is creating the table now, check again; "
            f"else restore the log{'' if birth.adopted else f', or {birth.starting_over}'}"
        )
    return {"register": "registered"}.get(birth.mode, f"{birth.mode.removesuffix('e')}ed")


def _check_reachable(s3: S3Client, bucket: str, field: str = "lake.root") -> str:
    reach_bucket(s3, bucket, field)
    return ""


def _write(s3: S3Client, bucket: str, folder: str, *, reads: bool = True) -> str:
    """Put, read, list and delete a probe. Its name begins with "_", so no table takes its events."""
    key = f"{folder}{PROBE}{uuid.uuid4()}"
    objects, where = arns_of(s3).objects(bucket, folder), {"Bucket": bucket, "Key": key}
    call_permitted("s3:PutObject", objects, s3.put_object, **where, Body=b"tidegate check")
    try:
        # The upload never began.
        try_call("s3:AbortMultipartUpload", objects, s3.abort_multipart_upload, **where, UploadId="tidegate-check")
        if reads:
            call_permitted("s3:GetObject", objects, s3.get_object, **where)
            call_permitted("s3:PutObjectTagging", objects, s3.put_object_tagging, **where, Tagging={"TagSet": []})
            call_permitted("s3:ListBucket", arns_of(s3).bucket(bucket), s3.list_objects_v2, Bucket=bucket, Prefix=key)
    finally:
        call_permitted("s3:DeleteObject", objects, s3.delete_object, **where)
    return "allowed"


def _check_conditional_put(store: LakeStore) -> str:
    try:
        prove_conditional_put(store.objects, store.bucket, store.key(f"{PROBE}{uuid.uuid4()}"))
    except StoreError as error:
        raise Failed(str(error)) from None
    return "one of 8 concurrent creations succeeded"


def _table_state_error(remote: SparkRemote, store: LakeStore) -> PySparkException | None:
    try:
        with isolated_session(remote) as session:
            Delta(remote, lambda: session).table_state(store.uri("_tidegate-check"))
    except PySparkException as error:
        return error
    return None


def _check_commits(remote: SparkRemote, commits: Commits) -> str:
    with isolated_session(remote) as session:
        return check_commits(Delta(remote, lambda: session), commits)


def check_commits(delta: Delta, commits: Commits) -> str:
    """Check that a server commits by the log store of the lake.

    Args:
        delta: the server.
        commits: the value of `lake.commits`.

    Raises:
        Warned: it has `DynamoDbLogStore` in a lake with `s3`, next to which nothing is lost.
        Failed: it has another one. In a lake with `dynamodb` that is also `ConditionalS3LogStore`: other writers may
            commit through DynamoDB, and it does not see them.
    """
    if (other := delta.other_log_store(commits)) is not None:
        raise (Warned if commits_of_class(delta.log_store) == "dynamodb" else Failed)(other)
    return f"`lake.commits` is {commits}, and so is the server's log store"


def _lacks_procedures(error: PySparkException) -> bool:
    # A class that Spark does not find has a condition without a name.
    return error.getCondition() in _NO_PROCEDURE or "Cannot find catalog plugin class" in str(error)


def _require_procedures(error: PySparkException | None) -> str:
    if error is not None and _lacks_procedures(error):
        raise Failed(
            f"tidegate.system.table_state cannot be called ({first_line(error)}): start the server with Tidegate's "
            "jars and spark.sql.catalog.tidegate, as docs/reference/lake-yaml.md says"
        )
    return "tidegate.system exists"


def _require_root(error: PySparkException | None, store: LakeStore) -> str:
    if error is not None:
        raise Failed(
            f"{first_line(error)}: the server has credentials, a region and an endpoint of its own; see that its role "
            f"may read {S3Address(store.bucket, store.key('')).s3}, and that the bucket exists"
        )
    return "the server can read it"


def registered_tables(config: LakeConfig) -> list[TableSpec]:
    """Return the configured tables whose files are registered where they are."""
    return [spec for spec in config.tables if spec.registers]


def check_foreign(store: LakeStore, bucket: str, folders: Iterable[str]) -> Finding:
    """Check that no folder contains a Delta table that is not this lake's.

    Args:
        bucket: the bucket of the folders.
        folders: key prefixes that end with `/`.
    """

    def none_there() -> str:
        found = [S3Address(bucket, folder).s3 for folder in folders if _is_foreign(store, bucket, folder)]
        if found:
            raise Failed(
                f"{', '.join(found)} contains a Delta table of another owner (its _delta_log is not this lake's). "
                "Loading its files would also load rows that it has removed. With `mode: register`, `tidegate adopt` "
                "makes it a table of this lake. Else write those files elsewhere, or leave the prefix out of this lake"
            )
        return ""

    return make_finding(Check.BUCKET_FOREIGN_TABLE, bucket, none_there)


def folders_above(key: str) -> list[str]:
    """Return every folder above a key, the outermost first."""
    parts = key.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) + "/" for depth in range(len(parts))]


def _is_foreign(store: LakeStore, bucket: str, folder: str) -> bool:
    log = f"{folder}_delta_log/"
    first_file = next(iter(store.objects.list_under(bucket, log)), None)
    # A role that may not delete leaves what a check wrote there. All files of Delta are before it.
    if first_file is None or first_file.key.startswith(f"{log}{PROBE}"):
        return False
    birth = store.births.read(TableKey(bucket, folder).encode())
    if birth and birth.adopted:
        return False
    found, first = store.objects.head_with_body(bucket, f"{log}{0:020d}.json", _MAX_COMMIT_BYTES)
    if isinstance(found, S3Gone):
        # The first commits were cleaned up. A table that we created here is ours: the first commit is refused where a
        # foreign log exists.
        return birth is None or not birth.registered
    if not isinstance(found, S3Found):
        raise StoreError(f"{S3Address(bucket, log).s3}: {found.detail}")
    lake = store.identity.read_uuid()
    return first is None or lake is None or lake not in _owners(first)


def _owners(commit: bytes) -> Iterator[str]:
    for line in io.BytesIO(commit):
        try:
            action = foreign_json(line)
            yield action["metaData"]["configuration"]["tidegate.lake"]
        except (ValueError, KeyError, TypeError):
            continue
