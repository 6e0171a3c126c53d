"""The columns that several formats show of one batch: their types depend on no order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.schema.column_types import Array, Decimal, Field, Simple, Struct, Type
from tidegate.platform.core.schema.type_union import ExactNumber, common_type, narrowest_columns, parse_shown_field

SIMPLE = [Simple(name) for name in ("boolean", "long", "double", "date", "timestamp", "string", "void")]
KINDS: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from([*SIMPLE, Decimal(20, 0), Decimal(38, 0), ExactNumber("long"), ExactNumber("decimal(20,0)")]),
    lambda inner: st.one_of(
        inner.map(Array),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(
            lambda fields: Struct(tuple(Field(name, fields[name]) for name in sorted(fields)))
        ),
    ),
    max_leaves=6,
)


@given(KINDS, KINDS, KINDS)
def test_the_order_of_types_does_not_matter(first: Type, second: Type, third: Type) -> None:
    assert common_type(first, first) == first
    assert common_type(first, second) == common_type(second, first)
    assert common_type(common_type(first, second), third) == common_type(first, common_type(second, third))


def test_the_narrowest_type_holds_both() -> None:
    whole, floating = Simple("long"), Simple("double")
    assert common_type(whole, floating) == floating
    assert common_type(whole, Decimal(38, 0)) == Decimal(38, 0)
    assert common_type(Simple("date"), Simple("timestamp")) == Simple("timestamp")
    assert common_type(whole, Simple("boolean")) == Simple("string")
    struct, other = Struct((Field("b", whole),)), Struct((Field("a", whole), Field("B", floating)))
    assert common_type(struct, other) == Struct((Field("a", whole), Field("b", floating)))


def test_each_column_is_there_once() -> None:
    shown = [[Field("n", Simple("long"))], [Field("m", Simple("date")), Field("N", Simple("double"))]]
    assert narrowest_columns(shown) == [Field("n", Simple("double")), Field("m", Simple("date"))]


@given(st.permutations([[Field("n", Simple("void"))], [Field("N", Simple("long"))], [Field("n", Simple("void"))]]))
def test_a_column_without_a_value_is_not_a_reason_for_text(shown: list[list[Field]]) -> None:
    assert [field.type for field in narrowest_columns(shown)] == [Simple("long")]
    assert narrowest_columns([[Field("n", Simple("void"))]]) == [Field("n", Simple("string"))]
    assert common_type(Simple("void"), Array(Simple("long"))) == Simple("string"), "no cell holds a list"


@given(st.permutations(["long", "exact long", "decimal(20,0)", "double", "void"]), st.integers(1, 5))
def test_a_number_that_a_double_would_change_makes_a_column_of_doubles_text(kinds: list[str], count: int) -> None:
    """9007199254740993 in JSON, and 1.5 in CSV: as doubles, the first row would be bad."""
    bodies = [
        {"name": "n", "type": kind.split()[-1], "metadata": {"tidegate.exact": True} if " " in kind else {}}
        for kind in kinds[:count]
    ]
    (field,) = narrowest_columns([parse_shown_field(body)] for body in bodies)
    if {"exact long", "double"} <= {*kinds[:count]}:
        assert field.type == Simple("string")
    else:
        assert type(field.type) is not ExactNumber
        assert (field.type == Simple("double")) == ("double" in kinds[:count])
