"""Everything that the lake keeps under its root.

The layout never changes; docs/internals/architecture.md describes it::

    lake.json                               the lake's identity
    proven/<endpoint>.json                  its conditional put was proven
    inbox/<table key>/<manifest id>.json
    gathered/<epoch seconds>-<ULID>.jsonl   manifests of many tables, until that time: then they go to the inbox
    held/<table key>/<manifest id>.json     events of folders that become tables when a day has room for them
    held/<table key>/more.json              more events came, so the folder's objects are listed then
    held/<table key>/listed.json            how far that listing is
    batches/<table key>/<n, 20 digits>.json and .void
    after/<table key>/<ULID>-<keys>.json    files that after-load could not remove or tag yet
    signals/<table key>/<digests>-<n>.json  completion signals that wait for a part
    waiting/<table key>.json                what waits for completion signals, after the table's last run
    tables/<table key>.json                 birth: generation, location, SQL name
    bronze/<table key>/  silver/<name>/  ledger/<table key>/
    ledger/<table key>..seed-<ULID>/        rows of an adopted table's objects, until they are in its ledger
    rows/<name>/<yyyy-mm-dd>/<ULID>-<rows>-<first>-<last>.jsonl     messages of row queues
    batches/<table key>..<generation>/  ledger/<table key>..<generation>/     after a reset
    outputs/<table key>/<generation>/<n>-<ULID>/    objects that wait for their copy to an output
    quarantine/messages/  quarantine/rows/  staging/
    intake/<yyyy-mm-dd>/<ULID>.json         what was received and leads to no table
    outbox/<route>/<ULID>-<messages>-<oldest>.jsonl     messages that wait to be forwarded
    outbox/<route>/to/<queue>/                          those that one of a route's queues could not take
    quarantine/routes/<route>/<digest>-<ULID>.json      those that the destination never takes
    operations/<yyyy-mm-dd>/<ULID>.json     requested operations
    forgotten/requests/<ULID>.json          digests of forgotten persons, for ever
    exports/<name>/<table id>.json          how far the changes of a silver table are exported
    losses/<ULID>-<table>.json              losses of the Spark server in the last day
    history/<table key>/<generation>-<n, 20 digits>.json    what earlier inventories had, from batch n on
    listings/<table key>..<generation>.json how far the first listing after a reset is
    reconcile.json                          times of each table's last listing
"""

from __future__ import annotations

from collections.abc import Iterator

from ulid import ULID

from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.lake_root.after_notes import AfterNotes
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.lake_root.births import Births
from tidegate.platform.lake.lake_root.forget_requests import Forgotten
from tidegate.platform.lake.lake_root.gathered_hints import Gathered
from tidegate.platform.lake.lake_root.held_events import Held
from tidegate.platform.lake.lake_root.identity import Identity
from tidegate.platform.lake.lake_root.inbox import Backlog, Inbox, WaitingManifest
from tidegate.platform.lake.lake_root.logs import IntakeLog, OperationsLog
from tidegate.platform.lake.lake_root.losses import Losses
from tidegate.platform.lake.lake_root.outbox import Outbox
from tidegate.platform.lake.lake_root.progress import ExportMarks, GenerationListings, ListingTimes
from tidegate.platform.lake.lake_root.quarantine import Quarantine
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.lake_root.waiting_notes import WaitingNotes, WaitingSignals

#: Between a table key, which never has two dots in a row, and the ULID of a seed.
_SEED = "..seed-"


class LakeStore(LakeRoot):
    """The objects under one lake root, by kind."""

    def __init__(self, objects: ObjectStore, root: str) -> None:
        """Open the store. It sends no request to S3 before its first use.

        Args:
            root: `s3://bucket/prefix`.
        """
        super().__init__(objects, root)
        self.identity = Identity(self)
        self.inbox = Inbox(self)
        self.gathered = Gathered(self)
        self.held = Held(self)
        self.outbox = Outbox(self)
        self.births = Births(self)
        self.quarantine = Quarantine(self)
        self.intake_log = IntakeLog(self)
        self.operations = OperationsLog(self)
        self.losses = Losses(self)
        self.forgotten = Forgotten(self)
        self.listing_times = ListingTimes(self)
        self.generation_listings = GenerationListings(self)
        self.waiting_notes = WaitingNotes(self)
        self.export_marks = ExportMarks(self)

    def batches(self, folder: str) -> Batches:
        """Return the batches of one generation of a table."""
        return Batches(self, folder)

    def after_notes(self, table: str) -> AfterNotes:
        """Return the files of a table that wait for after-load."""
        return AfterNotes(self, table)

    def new_seed(self, table: str) -> str:
        """Return the `s3a://` URI of a new folder for the first rows of the ledger of a table that is adopted."""
        return self.uri("ledger", f"{table}{_SEED}{ULID()}")

    def remove_seeds(self, table: str) -> None:
        """Delete these folders of a table, those of adoptions that died too. Its ledger has the rows."""
        found = self.objects.list_under(self.bucket, self.key("ledger", f"{table}{_SEED}"))
        self.objects.delete(self.bucket, [item.key for item in found])

    def waiting_signals(self, table: str) -> WaitingSignals:
        """Return the completion signals of a table that wait for a part."""
        return WaitingSignals(self, table)

    def table_keys(self) -> set[str]:
        """Return table keys of all tables that were born or have waiting hints."""
        return set(self.table_births())

    def table_births(self) -> dict[str, float | None]:
        """Return epoch seconds of birth of each table in `table_keys`; None for a table that is not born yet."""
        return {**dict.fromkeys(self.inbox.tables()), **self.births.birth_times()}

    def walk_backlogs(self) -> Iterator[Backlog]:
        """Yield the backlog of each table, with what is gathered for it. For people and metrics: runs read the inbox.

        What is gathered is read first: hints that go to the inbox meanwhile are counted twice, and never missed.
        """
        gathered = self.gathered.backlogs()
        for backlog in self.inbox.walk_backlogs():
            more = gathered.pop(backlog.folder, None)
            yield backlog.with_gathered(more) if more else backlog
        yield from gathered.values()

    def waiting_manifests(self) -> list[WaitingManifest]:
        """Return the manifests that wait for any table, gathered ones first, in the order that `walk_backlogs` has."""
        return [*self.gathered.waiting_manifests(), *self.inbox.waiting_manifests()]
