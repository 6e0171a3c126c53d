"""The ARNs of the resources of a lake that several roles need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.commit_table import wanted_commit_table
from tidegate.platform.cloud.statement import Statement, escape_wildcards, restrict_to_account
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.s3_address import S3Address, spellings

#: Folders below a registered table's prefix that have other objects than its files.
LOG_FOLDER, COPIES_FOLDER = "_delta_log/", "_tidegate/"
#: The names of the objects begin so that `tidegate check` puts and deletes. No table takes such an object.
PROBE = "_tidegate-check-"


@dataclass(frozen=True)
class LakeArns:
    """The ARNs of a lake's resources, and patterns of them."""

    config: LakeConfig

    @property
    def address(self) -> Address:
        """The region and account of the lake."""
        return Address.from_config(self.config)

    def queues(self) -> tuple[str, ...]:
        """Return the queues of events and of rows."""
        return tuple(dict.fromkeys(self.address.queue(spec) for spec in self.config.every_queue))

    def dead_letters(self) -> tuple[str, ...]:
        """Return the dead-letter queues of the lake's queues."""
        return tuple(dict.fromkeys(self.address.queue(spec, spec.dlq) for spec in self.config.every_queue if spec.dlq))

    def buckets(self, *folders: str) -> tuple[str, ...]:
        """Return the buckets of sources, of the lake, of inventories, and of some `s3://` folders."""
        folders = (*folders, *(spec.inventory for spec in self.config.tables if spec.inventory))
        elsewhere = [S3Address.parse(folder).bucket for folder in folders]
        return tuple(
            map(self.address.bucket, dict.fromkeys([*self.config.buckets, self.config.lake.bucket, *elsewhere]))
        )

    def lake(self, *folders: str) -> tuple[str, ...]:
        """Return the objects below the lake root, or below some of its folders, in which `*` is a wildcard."""
        root = self.address.objects(self.config.lake.bucket, self.config.lake.prefix)
        return tuple(f"{root.removesuffix('*')}{folder}" for folder in folders) if folders else (root,)

    def paths(self) -> tuple[str, ...]:
        """Return patterns of the table paths in the commit table: those below the lake root, and registered tables."""
        root = S3Address(self.config.lake.bucket, self.config.lake.prefix).s3a
        found = [f"{escape_wildcards(spelling)}/*" for spelling in spellings(root)]
        if self.config.discovery_registers:
            found += [f"{scheme}://{bucket}/*" for bucket in self.config.buckets for scheme in ("s3a", "s3")]
        for spec in self.config.tables:
            if _may_register(spec) and not (self.config.discovery_registers and spec.table_key.prefix):
                location = S3Address(spec.table_key.bucket, spec.table_key.prefix).s3a
                found += map(escape_wildcards, spellings(location))
        return tuple(dict.fromkeys(found))

    def commit_table(self) -> tuple[str, ...]:
        """Return the table of DynamoDB in which the log store coordinates commits, if the lake has one."""
        table = wanted_commit_table(self.config)
        return (self.address.commit_table(table.name),) if table else ()

    def sources(self, which: Callable[[TableSpec], bool]) -> tuple[str, ...]:
        """Return the files of the tables that a condition chooses."""
        return tuple(self.address.folder(spec.prefix) for spec in self.config.tables if which(spec))

    @property
    def registered_buckets(self) -> tuple[str, ...]:
        """The buckets in which a table may be registered."""
        own = [spec.table_key.bucket for spec in self.config.tables if _may_register(spec)]
        return tuple(dict.fromkeys([*(self.config.buckets if self.config.discovery_registers else ()), *own]))

    def registered_folders(self) -> dict[str, list[str]]:
        """Return the prefixes of the tables that may be registered, by bucket: all of it if discovery registers."""
        found: dict[str, list[str]] = {
            bucket: [""] for bucket in self.config.buckets if self.config.discovery_registers
        }
        for key in (spec.table_key for spec in self.config.tables if _may_register(spec)):
            if found.get(key.bucket) != [""]:
                found.setdefault(key.bucket, []).append(key.prefix)
        return found

    def registered_arns(self, folder: str) -> tuple[str, ...]:
        """Return the ARNs of a folder of each registered table. Discovery that registers may do so at any prefix."""
        if self.config.discovery_registers:
            anywhere = tuple(f"{self.address.bucket(bucket)}/*/{folder}*" for bucket in self.config.buckets)
            # A whole bucket is a table only if `lake.yaml` has it, never by discovery.
            whole = [spec.table_key for spec in self.config.tables if _may_register(spec) and not spec.table_key.prefix]
            return (*anywhere, *(self.address.objects(key.bucket, folder) for key in whole))
        keys = [spec.table_key for spec in self.config.tables if _may_register(spec)]
        return tuple(self.address.objects(key.bucket, f"{key.prefix}{folder}") for key in keys)


def require_own_account(arns: LakeArns, *statements: Statement) -> tuple[Statement, ...]:
    """Return statements about objects, restricted to buckets of the lake's account if `lake.yaml` says which it is."""
    return tuple(restrict_to_account(statement, arns.address.account) for statement in statements)


def _may_register(spec: TableSpec) -> bool:
    """Return whether the table's files may be registered, as configured or by the ending of the first file."""
    return spec.registers is not False
