"""Where silver has the subject of a row of bronze: a name alone does not say it."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.silver.subject_paths import (
    former_paths,
    personal_key,
    subject_paths,
    subject_record,
    unattributable_rows,
)

PLAIN = {"id": "int", "at": "int", "mail": "string", "user_id": "int", "seller": "int", "customer": "struct<id:int>"}
ENVELOPE = {
    "before": "struct<id:int,who:string>",
    "after": "struct<id:int,who:string>",
    "source": "struct<lsn:bigint>",
    "op": "string",
}


def fields(types: dict[str, str]) -> list[Field]:
    return [Field(name, parse_sql_type(kind)) for name, kind in types.items()]


def paths(subject: str | list[str], bronze: dict[str, str] = PLAIN, **options: Any) -> Any:
    subject = [subject] if isinstance(subject, str) else subject
    spec = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 9, **options})
    found = subject_paths(spec, subject, fields(bronze))
    return found[subject[0]] if len(subject) == 1 else found


def test_a_field_of_a_column_is_not_a_column_of_its_last_name() -> None:
    assert paths("customer.id") == [("customer", "id")]
    assert paths("Customer.ID") == [("customer", "id")]
    assert paths("mail") == [("mail",)]


def test_renamed_columns_exchange_their_names() -> None:
    rename = {"user_id": "buyer", "Seller": "user_id", "customer": "whose"}
    assert paths("user_id", rename=rename) == [("buyer",)]
    assert paths("seller", rename=rename) == [("user_id",)]
    assert paths("customer.id", rename=rename) == [("whose", "id")]


@pytest.mark.parametrize(
    ("options", "there"),
    [
        ({"derive": {"mail": "lower(mail)"}}, []),
        ({"derive": {"mail": "lower(mail)", "said": " mail "}}, [("said",)]),
        ({"derive": {"said": "`mail`"}}, [("mail",), ("said",)]),
        ({"derive": {"said": "mail"}, "cast": {"said": "bigint"}}, [("mail",)]),
        ({"except_columns": ["MAIL"]}, []),
        ({"columns": ["id", "at"]}, []),
        ({"columns": ["id", "Mail"]}, [("mail",)]),
        ({"decode": {"mail": "decimal(10, 2)"}}, []),
        ({"cast": {"mail": "bigint"}}, []),
        ({"cast": {"mail": "string"}}, [("mail",)]),
    ],
)
def test_a_column_with_another_text_is_not_the_subject(options: dict[str, Any], there: list[tuple[str]]) -> None:
    assert paths("mail", **options) == there


def test_a_whole_number_keeps_its_text() -> None:
    assert paths("user_id", cast={"user_id": "bigint"}) == [("user_id",)]
    assert paths("user_id", cast={"user_id": "string"}) == [("user_id",)]
    assert paths("user_id", cast={"user_id": "double"}) == []


def test_the_row_of_a_change_feed_is_opened() -> None:
    both = {"after.who": [("who",)], "before.who": [("who",)]}
    feed = {"from": "debezium", "order": ["source.lsn"]}
    assert paths(list(both), ENVELOPE, **feed) == both
    assert paths(list(both), {**ENVELOPE, "before": "struct<id:int>"}, **feed) == both, "each row has a cast"
    assert paths(["source.lsn"], ENVELOPE, **feed) == []
    wrapped = {"payload": f"struct<{','.join(f'{name}:{kind}' for name, kind in ENVELOPE.items())}>"}
    assert paths("payload.after.who", wrapped, **{**feed, "order": ["payload.source.lsn"]}) == [("who",)]
    flat = {"payload": "struct<id:int,who:string,__op:string,__source_lsn:bigint>"}
    assert paths("payload.who", flat, **{"from": "debezium", "order": ["payload.__source_lsn"]}) == [("who",)]


def test_a_row_by_hand_is_known_if_it_chooses_among_columns() -> None:
    by_hand = {"row": "COALESCE(`after`, before)", "order": ["source.lsn"]}
    assert paths(["after.who", "before.who"], ENVELOPE, **by_hand) == {
        "after.who": [("who",)],
        "before.who": [("who",)],
    }
    assert paths("after.who", ENVELOPE, row="after", order=["source.lsn"], rename={"who": "whose"}) == [("whose",)]
    made = {"row": "struct(after.id, lower(after.who) AS who)", "order": ["source.lsn"]}
    assert paths("after.who", ENVELOPE, **made) == []
    assert paths("after.who", ENVELOPE, **made, derive={"said": "after.who"}) == [("said",)]


def test_rows_in_an_array_have_no_subject() -> None:
    """A row of bronze may have rows of several persons, and forgetting deletes whole rows of bronze."""
    bronze = {"data": "array<struct<id:int,who:string>>", "ts": "bigint", "who": "string"}
    for subject in ("data.who", "who"):
        assert paths(subject, bronze, row="data", order="ts", derive={"person": "who"}) == []


def test_a_subject_that_bronze_does_not_have_yet_has_its_place() -> None:
    assert paths("staff.id") == [("staff", "id")]


def test_a_column_that_was_renamed_later_keeps_its_earlier_rows() -> None:
    def former(**options: Any) -> list[tuple[str, ...]]:
        spec = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 9, **options})
        return former_paths(spec, ["user_id", "customer.id"], fields(PLAIN), {})

    assert former() == []
    assert former(rename={"user_id": "buyer", "customer": "whose"}) == [("user_id",), ("customer", "id")]
    assert former(rename={"user_id": "buyer", "seller": "user_id"}) == [], "it has another value now"
    assert former(except_columns=["customer"]) == [("customer", "id")]
    assert former(except_columns=["customer"], derive={"customer": "1"}) == []


def _spec(**options: Any) -> SilverSpec:
    return SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 9, **options})


def _recorded(after: int = 0, bronze: dict[str, str] = PLAIN, **options: Any) -> dict[str, str]:
    return subject_record(subject_paths(_spec(**options), ["user_id"], fields(bronze)), after)


def test_every_path_that_a_subject_ever_had_is_searched() -> None:
    recorded = _recorded(rename={"user_id": "buyer"}) | _recorded(5, derive={"who": "user_id"})
    recorded |= {"delta.appendOnly": "false"}

    def former(subject: str = "user_id", **options: Any) -> list[tuple[str, ...]]:
        return former_paths(_spec(**options), [subject], fields(PLAIN), recorded)

    assert former(rename={"user_id": "client"}) == [("user_id",), ("buyer",), ("who",)]
    assert former() == [("buyer",), ("who",)]
    assert former("seller") == [], "a record is of one subject"
    assert former(rename={"seller": "buyer"}) == [("who",)], "it has another value now"
    envelope = {"row": "after", "order": ["source.lsn"], "rename": {"who": "client"}}
    record = subject_record({"after.who": [("whose",)]}, 0)
    assert former_paths(_spec(**envelope), ["after.who"], fields(ENVELOPE), record) == [("whose",)]


def test_rows_whose_subject_may_have_been_in_another_column_are_known() -> None:
    silver = fields({**PLAIN, "buyer": "int", "client": "int", "_deleted": "boolean"})
    options = {"rename": {"user_id": "client"}}

    def found(properties: dict[str, str], **more: Any) -> Any:
        rows = unattributable_rows(_spec(**{**options, **more}), ["user_id"], fields(PLAIN), properties, silver)
        return [(each.known, each.others) for each in rows]

    known = (("client",), ("user_id",))
    assert found({}) == [(known, (("buyer",),))], "a table of an earlier version records nothing"
    assert found(_recorded(3, **options)) == [(known, (("buyer",),))]
    assert found(_recorded(**options)) == [], "no row has come before the record"
    before = _recorded(rename={"user_id": "buyer"}) | _recorded(3, **options)
    assert found(before) == []
    reused = {"rename": {"user_id": "client", "seller": "buyer"}}
    assert found(before, **reused) == [(known, (("buyer",),))]
    lacking = _recorded(except_columns=["user_id"]) | _recorded(3, **options)
    assert found(lacking) == [(known, None)], "silver did not have the subject at all"


@pytest.mark.parametrize(
    ("options", "personal", "found"),
    [
        ({"keys": ["Mail"], "delete_when": "seller = 0"}, ["mail"], ("Mail", "mail")),
        ({"keys": ["id", "lower(`mail`)"], "apply_as_deletes": "seller = 0"}, ["mail"], ("lower(`mail`)", "mail")),
        ({"keys": ["m"], "rename": {"mail": "m"}, "delete_when": "id = 0"}, ["mail"], ("m", "mail")),
        ({"keys": ["m"], "derive": {"m": "sha2(mail, 256)"}, "delete_when": "id = 0"}, ["mail"], ("m", "mail")),
        ({"keys": ["customer.id"], "delete_when": "id = 0"}, ["customer"], ("customer.id", "customer")),
        # Each row has its subject: nothing is deleted by its key alone, or by a dump.
        ({"keys": ["mail"]}, ["mail"], None),
        ({"keys": ["mail"], "from": "snapshots"}, ["mail"], None),
        # Another column of the name.
        ({"keys": ["mail"], "rename": {"mail": "m", "user_id": "mail"}, "delete_when": "id = 0"}, ["mail"], None),
        ({"keys": ["id"], "delete_when": "mail IS NULL"}, ["mail", "customer.id"], None),
        ({"keys": ["email", "mail_id"], "delete_when": "id = 0"}, ["mail"], None),
    ],
)
def test_a_key_that_is_personal_is_found(
    options: dict[str, Any], personal: list[str], found: tuple[str, str] | None
) -> None:
    spec = SilverSpec.model_validate({"order": "at", "every": 9, **options})
    assert personal_key(spec, personal, fields(PLAIN)) == found


def test_the_key_of_an_envelope_is_personal_by_the_field_of_either_side() -> None:
    spec = SilverSpec.model_validate({"from": "debezium", "keys": ["who"], "every": 9})
    assert personal_key(spec, ["after.who"], fields(ENVELOPE)) == ("who", "after.who")
    assert personal_key(spec, ["after.id", "who"], fields(ENVELOPE)) is None


def test_every_reading_of_a_subject_has_a_place_in_silver_or_none_has() -> None:
    both = {"user.id": "string", "user": "struct<id:string>", "id": "int", "at": "int"}
    assert paths("user.id", both) == [("user.id",), ("user", "id")]
    assert paths("user.id", both, rename={"user.id": "uid", "user": "who"}) == [("uid",), ("who", "id")]
    assert paths("user.id", both, except_columns=["user"]) == []
    assert paths("p.user.id", {"p": "struct<`user.id`:string>"}, row="p") == [("user.id",)]
