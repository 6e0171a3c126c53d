"""Which of several Spark servers has a table."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.spark_address import order_servers

SERVERS = st.lists(st.integers(0, 99).map(lambda n: f"sc://spark-{n}:15002"), min_size=1, max_size=16, unique=True)
TABLES = st.text(min_size=1, max_size=40)


@given(SERVERS, TABLES, st.randoms())
def test_a_table_has_one_order_of_all_servers_however_they_are_listed(
    servers: list[str], table: str, random: Random
) -> None:
    order = order_servers(table, servers)
    assert sorted(order) == sorted(servers)
    random.shuffle(servers)
    assert order_servers(table, servers) == order


@given(SERVERS, TABLES)
def test_only_the_tables_of_a_server_that_is_gone_move(servers: list[str], table: str) -> None:
    order = order_servers(table, servers)
    for gone in servers:
        left = [server for server in servers if server != gone]
        assert order_servers(table, left) == [server for server in order if server != gone]


def test_servers_have_about_as_many_tables_and_so_have_those_that_take_over() -> None:
    servers, tables = [f"sc://spark-{n}:15002" for n in range(4)], [f"landing.table_{n}" for n in range(4000)]
    orders = [order_servers(table, servers) for table in tables]
    assert all(900 < count < 1100 for count in Counter(order[0] for order in orders).values())
    heirs = Counter(order[1] for order in orders if order[0] == servers[0])
    assert len(heirs) == 3
    assert all(270 < count < 400 for count in heirs.values())


def test_the_order_of_a_table_is_that_of_every_process_and_version() -> None:
    """Hashes of Python differ between processes."""
    servers = ["sc://a:15002", "sc://b:15002", "sc://c:15002"]
    assert order_servers("landing.orders", servers) == ["sc://b:15002", "sc://c:15002", "sc://a:15002"]
    assert order_servers("", servers) == servers, "work without a table takes the first"
