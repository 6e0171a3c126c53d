"""Helpers of the fault tests: servers to kill, clients to kill or stop, and tables with an oracle."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.lakes.seams import Standing, dying_at
from tests.support.log_store.delta_log import DeltaLog, commit_file
from tests.support.servers.client import DEADLINE, Client, wait_until
from tests.support.servers.fault_proxy import FaultProxy
from tests.support.servers.fault_rules import Hold
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import SEAMS, BatchResult, run_table
from tidegate.platform.core.bronze.hint import Hint, Rebuild, Redriven, Replacement
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.lake import Lake, open_lake
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.server import ConnectServer, SparkServer
from tidegate.platform.testing import TestLake

#: Lake whose S3 traffic from Spark passes through the proxy.
PROXIED = "proxied"

#: Part of keys for which the clients' S3 answers 503, so they defer them.
FLAKY = "flaky"

#: Steps of a run of which each kind of table has its own. Afterwards a run does the same for both, and tags files of
#: a loaded table.
OWN_STEPS = ("look", "prepare", "decide", "commit")

#: Tags of a file of a loaded table after it is in bronze.
TAGS = {"tidegate": "loaded"}
LOADED: dict[str, Any] = {"format": "json", "after_load": {"tag": TAGS}}
#: Configuration of a table that has silver too: the newest row of each slot.
MERGED: dict[str, Any] = {"silver": {"keys": ["slot"], "order": "id", "every": 10}}

_ids = itertools.count(1)


class FaultServers:
    """AWS, a Spark server that only the test restarts, and a proxy in front of AWS.

    Every client's S3 requests pass through the proxy, and those of Spark if the lake is `PROXIED`.

    Args:
        home: folder of their files.
        aws: the running AWS.
        commits: how the lakes coordinate commits.
    """

    def __init__(self, home: Path, aws: LocalAws, commits: Commits = "dynamodb") -> None:
        self.aws = aws
        self.commits = commits
        self.proxy = FaultProxy(self.aws.endpoint)
        self._home = home
        self._spark: ConnectServer | None = None

    @property
    def spark(self) -> ConnectServer:
        assert self._spark is not None
        return self._spark

    def use(self, server: ConnectServer) -> None:
        """Take another Spark server, which runs."""
        self._spark = server

    def start(self) -> None:
        self.proxy.start()
        self.proxy.status("HEAD|GET", f"/[^?]*{FLAKY}", 503, times=None)
        conf = SMALL_DATA | {
            f"spark.hadoop.fs.s3a.bucket.{kind}-{PROXIED}.endpoint": self.proxy.endpoint for kind in ("landing", "lake")
        }
        store = log_store_class(self.commits)
        self._spark = SparkServer(
            self._home / "spark", self.aws.environ, port=0, memory="2g", log_store=store, conf=conf
        )
        self._spark.start(DEADLINE)

    def stop(self) -> None:
        self.proxy.stop()
        if self._spark is not None:
            self._spark.stop()

    def clients(self) -> Clients:
        aws = self.aws.environ
        return Clients.connect(
            self.aws.endpoint, REGION, key=aws["AWS_ACCESS_KEY_ID"], secret=aws["AWS_SECRET_ACCESS_KEY"]
        )

    def kill_spark(self) -> None:
        """Send SIGKILL to the Spark server."""
        process = self.spark.process
        assert process is not None
        process.kill()
        process.wait(DEADLINE)

    def restart_spark(self) -> None:
        """Start the Spark server again, on the same port."""
        self.spark.start(DEADLINE)


class FaultLake(TestLake):
    """A lake on the fault servers. `close` stops everything that it started.

    Args:
        servers: they may be killed.
        folder: folder of its files.
        name: unique among the lakes of the servers.
        tables: names of tables, which imply their kinds: see `Watched`. `rows…` has a row queue, `sets…` has completion
            signals, and both are not watched.
        merged: names of tables with a silver table.
        several: the Spark servers that lake.yaml names. Only clients that choose their server use them.
    """

    __test__ = False

    def __init__(
        self,
        servers: FaultServers,
        folder: Path,
        name: str,
        tables: Iterable[str],
        merged: Iterable[str] = (),
        several: Iterable[SparkRemote] = (),
    ) -> None:
        self.servers = servers
        self.folder = folder
        self.clients_started: list[Client] = []
        self.standing: list[Standing] = []
        self._exit = ExitStack()
        tables, merged = list(tables), set(merged)
        configured = [{**_source(table), **(MERGED if table in merged else {})} for table in tables]
        more: dict[str, Any] = {"discovery": False, "lake": {"commits": servers.commits}}
        if named := [remote.address for remote in several]:
            more["spark"] = {"servers": named}
        super().__init__(servers, folder, name, configured, more)  # type: ignore[arg-type]
        self.tables = {table: Watched(self, table) for table in tables if not table.startswith(("rows", "sets"))}

    @cached_property
    def lake(self) -> Lake:
        """Handles with a separate session: the session that other lakes share dies with a server."""
        return self._exit.enter_context(self.resource.open_lake())

    def take_in(self) -> None:
        """Drain the queue until every event of every put and delete has become a hint."""

        def drained() -> bool:
            # Below a second it does not poll long: the events are in the queue, or come with the next drain.
            for table, hints in take_in(self.lake, seconds=0.9).hints.items():
                watched = next(each for each in self.tables.values() if each.table_key == table.encode())
                watched.events.update(hint.event_id for hint in hints)
            return all(table.events.total() >= table.outcomes.total() for table in self.tables.values())

        wait_until(drained, "the notifications of all puts and deletes")

    def client(
        self,
        table: str,
        seam: str | None = None,
        *,
        rounds: int = 0,
        merging: bool = False,
        remote: SparkRemote | None = None,
        chooses: bool = False,
    ) -> Client:
        """Return a run, or a merge, of a table in a separate process, with the proxy as S3. At a seam it is killed.

        `remote` is another Spark server than that of the lake. One that `chooses` takes one of those of lake.yaml.
        """
        environ = {**os.environ, **self.stack.aws.environ}
        environ |= (remote or self.servers.spark.remote).environ | {"TIDEGATE_LAKE": str(self.path)}
        environ |= {"SPARK_REMOTE": ""} if chooses else {}
        environ["AWS_ENDPOINT_URL"] = self.servers.proxy.endpoint
        name = f"{len(self.clients_started)}-{seam}"
        client = Client(name, self.folder, environ, self.key(table), seam, rounds, merging)
        self.clients_started.append(client)
        return client

    def bear(self, sigkilled: Mapping[str, str]) -> None:
        """Let the tables be born by runs that died, each one step later, and then by one that lives.

        Args:
            sigkilled: the seam at which a run is a separate process and gets a real SIGKILL, by table. Elsewhere it
                dies in this process, which leaves the same objects (`Watched.dies_at`).
        """
        for table in self.tables.values():
            table.first_wave()
        self.take_in()
        for seam in SEAMS:
            killed = {name: table.client(seam) for name, table in self.tables.items() if sigkilled[name] == seam}
            for name, table in self.tables.items():
                if name in killed:
                    killed[name].wait_killed()
                else:
                    table.dies_at(seam)
        for table in self.tables.values():
            table.run()

    def disturbed(self) -> Lake:
        """Handle of a run in this process, with the proxy as S3 and without retries. Its session is that of `lake`."""
        aws = Aws(
            endpoint_url=self.servers.proxy.endpoint,
            region_name=REGION,
            aws_access_key_id=self.stack.aws.environ["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.stack.aws.environ["AWS_SECRET_ACCESS_KEY"],
            max_attempts=1,
        )
        session = self.lake.delta.session
        return open_lake(self.config, aws, self.servers.spark.remote, lambda: session)

    def objects(self) -> dict[tuple[str, str], str]:
        """Return every object of the lake and of its sources, with its etag."""
        store = self.lake.store.objects
        return {
            (bucket, item.key): item.etag
            for bucket in (self.bucket, self.lake_bucket)
            for item in store.list_under(bucket, "")
        }

    def disconnect(self) -> None:
        """Close the Spark session. The next use opens another session."""
        self._exit.close()
        self.__dict__.pop("lake", None)

    def move(self, server: ConnectServer) -> None:
        """Use another Spark server from now on."""
        self.disconnect()
        self.servers.use(server)
        self.__dict__.pop("resource", None)

    def close(self) -> None:
        for client in self.clients_started:
            client.kill()
        for run in self.standing:
            run.abandon()
        self._exit.close()


def slot(i: int) -> int:
    """Return Silver's key of a row.

    Each odd id has its own slot, so that a missing row is noticed. Even ids share five slots, so that an old row that
    replaced a newer row is noticed.
    """
    return i if i % 2 else -(i % 10)


def _source(table: str) -> dict[str, Any]:
    if table.startswith("rows"):
        return {"name": table, "row_queue": {"name": table}}
    if table.startswith("sets"):
        return {"name": table, "prefix": f"{table}/", "format": "json", "completion": "manifest.json", "max_files": 2}
    return {"name": table, "prefix": f"{table}/", **({} if table.startswith("reg") else LOADED)}


class Watched:
    """A table of a lake, with its expected content: rows by id, and the outcome of every event.

    Its name implies its kind: `reg…` has Parquet, registered; `load…` has JSON lines, loaded.

    Attributes:
        rows: ids that must be in bronze, with the number of times.
        outcomes: ledger decisions that must exist, by key and status.
        quarantined_texts: texts of rows that must be quarantined, by key, in the folder that the ledger names.
        events: ids of the events that intake has seen.
    """

    def __init__(self, lake: FaultLake, name: str) -> None:
        self.lake = lake
        self.name = name
        self.registered = name.startswith("reg")
        self.table_key = lake.key(name)
        self.rows: Counter[int] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.quarantined_texts: Counter[tuple[str, str]] = Counter()
        self.events: Counter[str | None] = Counter()
        self._content: dict[str, tuple[bytes, list[int]]] = {}
        #: Files that the next second wave removes, overwrites and redrives.
        self._changeable = "a", "c", "mixed"
        self._waves = itertools.count(2)

    def key(self, stem: str) -> str:
        """Return the key of a file."""
        return f"{self.name}/{stem}.{'parquet' if self.registered else 'json'}"

    def put(self, stem: str, count: int = 3) -> None:
        """Put a good file with new rows."""
        ids = [next(_ids) for _ in range(count)]
        self._put(stem, self._body(ids), ids)
        self.outcomes[self.key(stem), "committed"] += 1
        self.rows.update(ids)

    def again(self, stem: str) -> None:
        """Put the same bytes again: one more event, and no more rows."""
        self._put(stem, *self._content[stem])
        self.outcomes[self.key(stem), "duplicate"] += 1

    def bad(self, stem: str) -> None:
        """Put a file that cannot be read."""
        self._put(stem, b"neither PAR1 nor JSON\n", [])
        self.outcomes[self.key(stem), "quarantined"] += 1
        if not self.registered:
            self.quarantined_texts[self.key(stem), "neither PAR1 nor JSON"] += 1

    def mixed(self, stem: str) -> None:
        """Put a file with new rows and, if rows can be quarantined, one row that fits no table."""
        if self.registered:
            self.put(stem)
            return
        ids = [next(_ids)]
        self._put(stem, self._body(ids) + b"no JSON\n", ids)
        self.outcomes[self.key(stem), "committed"] += 1
        self.rows.update(ids)
        self.quarantined_texts[self.key(stem), "no JSON"] += 1

    def redrive(self, stem: str) -> None:
        """Redrive a file with quarantined rows. It brings the same rows, and each must exist once."""
        if self.registered:
            return
        hint = Hint(self.key(stem), Redriven())
        self.lake.lake.store.inbox.put([Manifest.create(self.table_key, "redrive", [hint])])
        self.events[None] += 1
        self.outcomes[self.key(stem), "committed"] += 1

    def rebuild(self, stem: str) -> None:
        """Rebuild a file that is completely in the table. It brings the same rows, and each must exist once."""
        if self.registered:
            return
        ledger, key = self.lake.lake.table(self.table_key).ledger, self.key(stem)
        n = ledger.memory(*ledger.clock(), [key])[1][key].n
        hint = Hint(key, Rebuild(Replacement(n, n)))
        self.lake.lake.store.inbox.put([Manifest.create(self.table_key, "rebuild", [hint])])
        self.events[None] += 1
        self.outcomes[key, "committed"] += 1

    def overwrite(self, stem: str, count: int = 3) -> None:
        """Put other rows under a committed key: loaded tables have both, registered tables refuse the key."""
        old = self._content[stem][1]
        if not self.registered:
            self.put(stem, count)
            return
        ids = [next(_ids) for _ in range(count)]
        self._put(stem, self._body(ids), ids)
        self.outcomes[self.key(stem), "quarantined"] += 1
        self.rows.subtract(old)

    def remove(self, stem: str, status: str = "removed") -> None:
        """Delete a committed file: registered tables lose its rows, loaded tables keep them."""
        self.lake.delete(self.key(stem))
        self.outcomes[self.key(stem), status] += 1
        if self.registered:
            self.rows.subtract(self._content[stem][1])

    def lose(self, stem: str, then: str) -> None:
        """Delete a file before it is in bronze: its put must end as `then`, its removal as a duplicate."""
        self.lake.delete(self.key(stem))
        self.rows.subtract(self._content[stem][1])
        self.outcomes[self.key(stem), "committed"] -= 1
        self.outcomes[self.key(stem), then] += 1
        self.outcomes[self.key(stem), "duplicate"] += 1

    def replace(self, stem: str, count: int = 3) -> None:
        """Put other rows under a key that is not in bronze yet: only these count. The second event is a duplicate."""
        self.rows.subtract(self._content[stem][1])
        ids = [next(_ids) for _ in range(count)]
        self._put(stem, self._body(ids), ids)
        self.rows.update(ids)
        self.outcomes[self.key(stem), "duplicate"] += 1

    def first_wave(self) -> None:
        """Put the files of the table's birth: good files, one event twice, an unreadable file, and a deferred file."""
        for stem in ("a", "b", "c"):
            self.put(stem)
        self.again("b")
        self.bad("bad")
        self.mixed("mixed")
        self.put(FLAKY)

    def second_wave(self) -> None:
        """Put files as in the first wave, with a removal, an overwritten key, a redrive and a rebuild.

        It may come several times. Each time it changes files of the wave before.
        """
        removed, overwritten, redriven = self._changeable
        n = next(self._waves)
        self._changeable = f"d{n}", f"e{n}", f"mixed{n}"
        self.put(f"d{n}")
        self.put(f"e{n}", 1)
        self.again("b")
        self.again(f"d{n}")
        self.bad(f"bad{n}")
        self.mixed(f"mixed{n}")
        self.remove(removed)
        self.overwrite(overwritten)
        self.redrive(redriven)
        self.rebuild("b")
        self.put(f"{FLAKY}{n}")

    def run(self) -> list[BatchResult]:
        """Run the table in this process, undisturbed."""
        return run_table(self.lake.lake.table(self.table_key), RunOptions(run_id="fresh"))

    def dies_at(self, seam: str) -> None:
        """Let a run in this process die at a seam: nothing after it happens, and nothing is repaired."""
        left: dict[tuple[str, str], str] = {}
        disturbed = self.lake.disturbed()
        with dying_at(seam, lambda: left.update(self.lake.objects())):
            run_table(disturbed.table(self.table_key), RunOptions(run_id=f"dies at {seam}"))
        now = self.lake.objects()
        # Only this table is checked: a killed client of another table may still have a commit in flight.
        prefix = TableKey.decode(self.table_key).prefix
        changed = sorted(
            (bucket, key)
            for bucket, key in now.keys() | left.keys()
            if now.get((bucket, key)) != left.get((bucket, key)) and (self.table_key in key or key.startswith(prefix))
        )
        assert not changed, f"a run that died at {seam} still changed something, which SIGKILL forbids: {changed}"

    def hold_at(self, seam: str) -> Standing:
        """Return a run in this process that is stopped at a seam after `wait_reached` returns."""
        disturbed = self.lake.disturbed()
        standing = Standing(
            seam, lambda: run_table(disturbed.table(self.table_key), RunOptions(run_id=f"stands at {seam}"))
        )
        self.lake.standing.append(standing)
        return standing

    def client(self, seam: str | None = None) -> Client:
        """Return a run in a separate process."""
        return self.lake.client(self.name, seam)

    def location(self, of: str = "bronze") -> str:
        """Return the `s3a://` root of bronze or of the ledger."""
        birth = self.lake.lake.table(self.table_key).birth
        assert birth is not None
        return birth.location if of == "bronze" else self.lake.lake.table(self.table_key).ledger.location

    def next_commit(self, of: str = "bronze", *, staged: bool = False) -> str:
        """Return the path, in a request to S3, of the next commit of bronze or of the ledger, or of its
        staged bytes.
        """
        log = self._log(of)
        return log.publication(len(log.versions()), staged=staged)

    def commit_in_flight(self, *, staged: bool = False) -> tuple[Client, Hold]:
        """Return a client whose commit of batch 2, or the commit's staged bytes, is held on its way to S3."""
        self.put("a")
        self.put("b")
        self.lake.take_in()
        self.run()
        self.put("c")
        self.remove("a")
        self.lake.take_in()
        held = self.lake.servers.proxy.hold("PUT", self.next_commit(staged=staged))
        client = self.client()
        held.wait_caught(DEADLINE)
        return client, held

    def headers(self) -> dict[int, Any]:
        """Return the ledger's header rows by batch number: exactly one for each number, without a gap."""
        return self._headers(self._ledger())

    def reported_by_listings(self) -> Counter[str]:
        """Return the keys of the decisions that came from listings, not from events."""
        return Counter(row["key"] for row in self._ledger() if row["kind"] == "row" and row["event_id"] is None)

    def check(self) -> None:
        """Check that exactly the expected rows and decisions exist, once each."""
        store = self.lake.lake.store
        waiting = [manifest.id for manifest in store.inbox.waiting_manifests(self.table_key)]
        assert not waiting, f"{self.name}: left in the inbox: {store.inbox.table_inbox(self.table_key).read(waiting)}"
        self._check_rows()
        ledger = self._ledger()
        headers = self._headers(ledger)
        batches = self.lake.lake.table(self.table_key).batches
        for n, header in headers.items():
            batch = batches.read(n)
            assert batch is not None
            assert header["digest"] == batch.digest
        assert batches.read(len(headers) + 1) is None, f"{self.name}: a batch was decided and not recorded"
        rows = [row for row in ledger if row["kind"] == "row"]
        self._equal("decisions by event", Counter(row["event_id"] for row in rows), self.events)
        self._equal("outcomes", Counter((row["key"], row["status"]) for row in rows), self.outcomes)
        self._equal("quarantined rows", Counter(self._quarantined_texts(rows)), self.quarantined_texts)
        if not self.registered:
            self._check_tags(rows)

    def _check_tags(self, ledger: list[dict[str, Any]]) -> None:
        """Check that exactly the files that are completely in bronze are tagged."""
        decided = sorted((row for row in ledger if row["etag"]), key=lambda row: (row["n"], row["position"]))
        last = {row["key"]: row for row in decided if row["status"] != "duplicate"}
        s3, loaded = self.lake.clients.s3, {}
        for item in s3.list_objects_v2(Bucket=self.lake.bucket, Prefix=f"{self.name}/").get("Contents", []):
            row = last[item["Key"]]
            loaded[item["Key"]] = row["status"] == "committed" and not row["bad_rows"]
        tagged = {
            key: s3.get_object_tagging(Bucket=self.lake.bucket, Key=key)["TagSet"]
            == [{"Key": name, "Value": value} for name, value in TAGS.items()]
            for key in loaded
        }
        assert tagged == loaded, f"{self.name}: tags of files"

    def _quarantined_texts(self, ledger: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        """Yield the key and text of every quarantined row in the folders that the ledger names, of each object's last
        reading.
        """
        s3 = self.lake.clients.s3
        read = [row for row in ledger if row["status"] in ("committed", "quarantined")]
        last = {(row["key"], row["etag"]): row for row in sorted(read, key=lambda row: (row["n"], row["position"]))}
        for row in last.values():
            if not row["bad_rows_folder"]:
                continue
            bucket, folder = S3Address.parse_s3a(row["bad_rows_folder"])
            for item in s3.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/").get("Contents", []):
                body = s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read().decode()
                for bad in map(json.loads, body.splitlines()):
                    if bad["_source_path"].endswith(f"/{row['key']}"):
                        yield row["key"], bad["raw"]

    def _headers(self, ledger: list[dict[str, Any]]) -> dict[int, Any]:
        rows = [row for row in ledger if row["kind"] == "header"]
        assert sorted(row["n"] for row in rows) == list(range(1, len(rows) + 1)), f"headers of {self.name}"
        return {row["n"]: row for row in rows}

    def _check_rows(self) -> None:
        session = self.lake.lake.delta.session
        found = session.read.format("delta").load(self.location()).select("id", "name").collect()
        assert all(row["name"] == f"row {row['id']}" for row in found)
        self._equal("rows", Counter(row["id"] for row in found), self.rows)

    def _equal(self, what: str, found: Counter[Any], expected: Counter[Any]) -> None:
        off = {"missing": dict(expected - found), "too many": dict(found - expected)}
        assert not any(off.values()), f"{self.name}: {what}: {off}"

    def _ledger(self) -> list[dict[str, Any]]:
        """Return the ledger's rows, read from its log's live files without Spark."""
        log = self._log("ledger")
        live: dict[str, None] = {}
        for version in log.versions():
            for action in map(json.loads, log.read(commit_file(version)).splitlines()):
                if "add" in action:
                    live[action["add"]["path"]] = None
                elif "remove" in action:
                    del live[action["remove"]["path"]]
        bucket, prefix = S3Address.parse_s3a(log.location)
        s3 = self.lake.clients.s3
        files = [s3.get_object(Bucket=bucket, Key=f"{prefix}/{unquote(path)}")["Body"].read() for path in live]
        return [row for file in files for row in pq.read_table(io.BytesIO(file)).to_pylist()]

    def _log(self, of: str) -> DeltaLog:
        return DeltaLog(self.lake.clients, self.location(of))

    def _put(self, stem: str, body: bytes, ids: list[int]) -> None:
        self.lake.put(self.key(stem), body)
        self._content[stem] = (body, ids)

    def _body(self, ids: list[int]) -> bytes:
        rows = [{"id": i, "slot": slot(i), "name": f"row {i}"} for i in ids]
        if not self.registered:
            return "".join(json.dumps(row) + "\n" for row in rows).encode()
        body = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), body)
        return body.getvalue()
