"""The orders of a key's rows, compared as Spark compares them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tidegate.platform.core.schema.exact_json import EXACT_TIMES
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.lake.spark.session import select


@dataclass(frozen=True)
class Orders:
    """Orders as JSON of structs, each with its rank: 1 for the newest.

    Attributes:
        texts: each order as `exact_json` writes it now, by its text as it was given. Older rows may have it in a
            narrower type.
        ranks: by these texts.
    """

    texts: dict[str, str]
    ranks: dict[str, int]

    @classmethod
    def from_values(cls, session: SparkSession, kind: str, given: Iterable[str]) -> Orders:
        """Return some orders, sorted by a query without tables.

        Args:
            session: sorts them.
            kind: the SQL type of the structs.
            given: the orders.
        """
        distinct = sorted(set(given))
        if not distinct:
            return cls({}, {})
        options = ", ".join(literal(text) for option in EXACT_TIMES.items() for text in option)
        parsed = f"struct(from_json(t, {literal(kind)}, map({options})) AS o, t)"
        every = f"from_json({literal(json.dumps(distinct))}, 'array<string>')"
        # Equal orders may have several texts, as 0.0 and -0.0 have.
        repeats = "place > 0 AND x.o <=> get(orders, place - 1).o"
        shown = f"transform(orders, (x, place) -> struct(x.t, to_json(x.o, map({options})), {repeats}))"
        listed = f"SELECT sort_array(transform({every}, t -> {parsed})) AS orders"
        (found,) = select(session, f"SELECT {shown} FROM ({listed})").collect()[0]
        texts: dict[str, str] = {}
        before = ""
        for text, now, is_repeated in found:
            before = texts[text] = before if is_repeated else now
        oldest_first = list(dict.fromkeys(texts.values()))
        return cls(texts, {text: len(oldest_first) - place for place, text in enumerate(oldest_first)})

    def rank(self, given: str) -> int:
        """Return the rank of an order by its text as it was given."""
        return self.ranks[self.texts[given]]
