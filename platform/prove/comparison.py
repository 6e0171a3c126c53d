"""Compares the tables and ledgers of a run with the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException

from tidegate.platform.core.wording import first_line, first_texts, number_of
from tidegate.platform.demo.accounts import read_accounts
from tidegate.platform.forgetting.forget import progress
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.prove.claims import Claim
from tidegate.platform.prove.oracle import Expected, Row
from tidegate.platform.prove.outcomes import Outcomes
from tidegate.platform.prove.plan import PERSON
from tidegate.platform.prove.tables import COMPARED

_SHOWN = 3


@dataclass
class Found:
    """What a lake has.

    Attributes:
        tables: the rows of each table; a text if it cannot be read.
        events: number of events, by how they ended.
        of_person: rows of the forgotten person, by table.
        erased: whether the request to forget is noted as erased.
    """

    tables: dict[str, Counter[Row] | str] = field(default_factory=dict)
    events: Counter[str] = field(default_factory=Counter)
    of_person: dict[str, int] = field(default_factory=dict)
    erased: bool = False


def read_lake(lake: Lake) -> Found:
    """Read what is compared."""
    SqlNames(lake).name_tables()
    found = Found()
    for table in COMPARED:
        try:
            rows = lake.delta.session.sql(f"SELECT {', '.join(table.values)} FROM {table.name}").collect()
            found.tables[table.name] = Counter(tuple(row) for row in rows)
        except PySparkException as error:
            found.tables[table.name] = first_line(error)
    for name in ("bronze.customers", "silver.customers_with_tombstones"):
        try:
            counted = lake.delta.session.sql(f"SELECT count(*) FROM {name} WHERE id = {PERSON}").collect()
            found.of_person[name] = counted[0][0]
        except PySparkException:
            found.of_person[name] = -1
    found.events = Counter(read_accounts(lake).outcomes.values())
    found.erased = all(request.erased for request in progress(lake))
    return found


def table_claims(expected: Expected, found: Mapping[str, Counter[Row] | str]) -> list[Claim]:
    """Return a claim for each table: it has exactly the rows of the oracle."""
    claims = []
    for table in COMPARED:
        wanted, rows = expected.tables[table.name], found.get(table.name, "it was not read")
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


def ledger_claims(expected: Expected, outcomes: Outcomes, found: Found, events: int) -> list[Claim]:
    """Return the claims on what became of every file and every event."""
    quarantined = {key for key, state in outcomes.states.items() if state == "quarantined"}
    right = quarantined == expected.quarantined and outcomes.bad_rows == expected.bad_rows
    differing = sorted(quarantined ^ expected.quarantined) + [
        key
        for key in sorted({*outcomes.bad_rows, *expected.bad_rows})
        if outcomes.bad_rows.get(key) != expected.bad_rows.get(key)
    ]
    bad = f"{number_of(len(quarantined), 'object')} and {number_of(sum(outcomes.bad_rows.values()), 'row')}"
    wrong = "" if right else f"; not as expected: {', '.join(first_texts(differing, _SHOWN))}"
    total = found.events.total()
    by_outcome = ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.events.items()))
    return [
        Claim(
            "quarantine",
            "Exactly the bad files and the bad rows are in quarantine",
            "the ledgers compared with the oracle, by object",
            right,
            f"{bad}{wrong}",
            "bad files would stop or change a table: please report it, with this report",
        ),
        Claim(
            "events",
            "Every event is accounted for",
            "events in the ledgers and the intake log, and messages and files that were sent",
            total >= events,
            f"{events} caused, {total} accounted for: {by_outcome}",
            "events were lost: lists would bring their files, with a delay",
        ),
        Claim(
            "forgotten",
            "A person who was forgotten has no row, and late files bring none back",
            "rows of the person in bronze and silver, after files that have some. Earlier versions end with VACUUM",
            found.erased and not any(found.of_person.values()),
            ", ".join(f"{name}: {count} rows" for name, count in found.of_person.items()),
            "persons could not be forgotten: please report it, with this report",
        ),
    ]


def _first_rows(rows: Counter[Any]) -> str:
    return f" ({', '.join(first_texts([str(row) for row in rows], _SHOWN))})" if rows else ""
