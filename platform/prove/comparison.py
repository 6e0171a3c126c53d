"""Compares the tables and ledgers of a run with the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException

from tidegate.platform.core.config.silver_columns import WITH_TOMBSTONES, own_columns, silver_query
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.wording import first_line, first_texts, number_of
from tidegate.platform.forgetting.forget import progress
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_views import name_object_tables
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.prove.claims import Claim
from tidegate.platform.prove.names import RunNames
from tidegate.platform.prove.oracle import Expected, Row
from tidegate.platform.prove.outcomes import Event, Outcomes
from tidegate.platform.prove.plan import PERSON
from tidegate.platform.prove.producers import Sent
from tidegate.platform.prove.tables import COMPARED

_SHOWN = 3


@dataclass
class Found:
    """What a lake has.

    Attributes:
        tables: the rows of each table; a text if it cannot be read.
        quarantined: keys of the objects that `lake.quarantine` has and nothing has resolved.
        bad_rows: number of the rows that `lake.quarantine` has of other objects, by key.
        of_person: rows of the forgotten person, by table.
        erased: whether the request to forget is noted as erased.
    """

    tables: dict[str, Counter[Row] | str] = field(default_factory=dict)
    quarantined: set[str] = field(default_factory=set)
    bad_rows: Counter[str] = field(default_factory=Counter)
    of_person: dict[str, int] = field(default_factory=dict)
    erased: bool = False


def read_lake(lake: Lake, names: RunNames) -> Found:
    """Read what is compared.

    Tables are read by their locations: on a server that others use, a name may belong to another lake.
    """
    sources, session = _read_sources(lake, names), lake.delta.session
    found = Found()
    for table in (each for each in COMPARED if each.name in sources):
        try:
            rows = session.sql(f"SELECT {', '.join(table.values)} FROM {sources[table.name]}").collect()
            found.tables[table.name] = Counter(tuple(row) for row in rows)
        except PySparkException as error:
            found.tables[table.name] = first_line(error)
    for name in ("bronze.customers", "silver.customers_with_tombstones"):
        try:
            counted = session.sql(f"SELECT count(*) FROM {sources[name]} WHERE id = {PERSON}").collect()
            found.of_person[name] = counted[0][0]
        except (PySparkException, KeyError):
            found.of_person[name] = -1
    name_object_tables(lake.delta.catalog, lake.store, _schema(names))
    quarantine = SqlNames(lake).quarantine_query(_schema(names))
    rows = session.sql(f"SELECT kind, key, resolved_at IS NULL AS is_open FROM ({quarantine})").collect()
    found.quarantined = {row["key"] for row in rows if row["kind"] == "object" and row["is_open"]}
    keys = [row["key"] for row in rows if row["kind"] == "row"]
    found.bad_rows = Counter(key for key in keys if key not in found.quarantined)
    found.erased = all(request.erased for request in progress(lake))
    return found


def drop_names(lake: Lake, names: RunNames) -> None:
    """Drop the SQL names of a run's tables from a server that others use. Their files stay."""
    statements = [f"DROP SCHEMA IF EXISTS {_schema(names)} CASCADE"]
    for spec in lake.config.tables:
        statements.append(f"DROP VIEW IF EXISTS silver.{spec.name}")
        tables = (f"silver.{spec.name}{WITH_TOMBSTONES}", f"bronze.{spec.name}", f"ledger.{spec.name}")
        statements += [f"DROP TABLE IF EXISTS {table}" for table in tables]
    for statement in statements:
        with suppress(PySparkException):  # there is no such schema
            lake.delta.session.sql(statement)


def _schema(names: RunNames) -> str:
    return names.table("tidegate_prove")


def _read_sources(lake: Lake, names: RunNames) -> dict[str, str]:
    """Return what a query reads of each table that exists, by the table's name in the report."""
    tables = [lake.table(table_key) for table_key in lake.store.births.tables()]
    born = {table.birth.name: table.birth.location for table in tables if table.birth}
    specs = {spec.name: spec for spec in lake.config.tables}
    found = {}
    for short in {table.name.partition(".")[2] for table in COMPARED}:
        name = names.table(short)
        if name in born:
            found[f"bronze.{short}"] = delta_table(born[name])
        if silver := specs[name].silver:
            table = delta_table(lake.store.uri("silver", name))
            found[f"silver.{short}{WITH_TOMBSTONES}"] = table
            found[f"silver.{short}"] = f"({silver_query(table, own_columns(silver))})"
    return found


def table_claims(expected: Expected, found: Mapping[str, Counter[Row] | str]) -> list[Claim]:
    """Return a claim for each table: it has exactly the rows of the oracle."""
    claims = []
    for table in COMPARED:
        wanted, rows = expected.tables[table.name], found.get(table.name, "it does not exist")
        if isinstance(rows, str):
            held, text = False, rows
        else:
            missing, surplus = wanted - rows, rows - wanted
            held = not missing and not surplus
            text = number_of(rows.total(), "row")
            if not held:
                text += f", {missing.total()} missing{_first_rows(missing)}"
                text += f", {surplus.total()} surplus{_first_rows(surplus)}"
        claims.append(
            Claim(
                f"rows-of-{table.name.replace('.', '-')}",
                f"{table.name} has exactly the rows that the oracle computed",
                "every row compared, in Python, with what the bytes of the files give",
                held,
                text,
                "files were lost, doubled or misread: please report it, with this report",
            )
        )
    return claims


def ledger_claims(expected: Expected, outcomes: Outcomes, found: Found, sent: Sent) -> list[Claim]:
    """Return the claims on what became of every file and every event."""
    return [
        _quarantine_claim(expected, outcomes, found),
        _events_claim(outcomes.events, sent),
        Claim(
            "forgotten",
            "A person who was forgotten has no row, and late files bring none back",
            "rows of the person in bronze and silver, after files that have some. Earlier versions end with VACUUM",
            found.erased and not any(found.of_person.values()),
            ", ".join(f"{name}: {count} rows" for name, count in found.of_person.items()),
            "persons could not be forgotten: please report it, with this report",
        ),
    ]


def _quarantine_claim(expected: Expected, outcomes: Outcomes, found: Found) -> Claim:
    in_ledgers = {key for key, state in outcomes.states.items() if state == "quarantined"}
    differing = {key for keys in (in_ledgers, found.quarantined) for key in keys ^ expected.quarantined}
    for bad_rows in (outcomes.bad_rows, found.bad_rows):
        keys = {*bad_rows, *expected.bad_rows}
        differing |= {key for key in keys if bad_rows.get(key) != expected.bad_rows.get(key)}
    bad = f"{number_of(len(found.quarantined), 'object')} and {number_of(found.bad_rows.total(), 'row')}"
    wrong = f"; not as expected: {', '.join(first_texts(sorted(differing), _SHOWN))}" if differing else ""
    return Claim(
        "quarantine",
        "Exactly the bad files and the bad rows are in quarantine",
        "the ledgers, and the rows of `lake.quarantine`, compared with the oracle, by object",
        not differing,
        f"{bad}{wrong}",
        "bad files would stop or change a table: please report it, with this report",
    )


def _events_claim(events: Mapping[str, Event], sent: Sent) -> Claim:
    own, changed = set(sent.message_ids), Counter(sent.changed)
    by_message = [(id.partition("#")[0], event) for id, event in events.items()]
    notified = Counter(event.key for id, event in by_message if id not in own)
    lost = [*sorted(own - {id for id, _ in by_message}), *(changed - notified).elements()]
    outcomes = Counter(event.outcome for id, event in by_message if id in own or event.key in changed)
    by_outcome = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    example = f", such as {lost[0]}" if lost else ""
    return Claim(
        "events",
        "Every event is accounted for",
        "each message that was sent, by its id, and each change of the bucket, by its key, in the ledgers and the "
        "intake log",
        not lost,
        f"{len(own) + changed.total()} caused, {len(lost)} lost{example}: {by_outcome}",
        "events were lost: lists would bring their files, with a delay",
    )


def _first_rows(rows: Counter[Any]) -> str:
    return f" ({', '.join(first_texts([str(row) for row in rows], _SHOWN))})" if rows else ""
