"""Small mistakes in the code of the invariants, each with the smallest group of tests that must find it.

`before` occurs once in its file. If a test without a server can find a mistake, no test with a server is listed for it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes:
        name: the mistake in words.
        invariant: its number in docs/internals/architecture.md, section 3.
        path: the file of the mistake.
        before: the present text.
        after: the text with the mistake.
        tests: node ids; at least one of them must fail.
    """

    name: str
    invariant: int
    path: str
    before: str
    after: str
    tests: tuple[str, ...]


_RUN, _LOOK, _RECORD = "assets/bronze/run.py", "assets/bronze/look.py", "assets/bronze/record.py"
_LOAD, _PREPARE = "assets/bronze/prepare/load/load.py", "assets/bronze/prepare/prepare.py"
_PLANNING, _INTAKE = "platform/core/bronze/plan.py", "sensors/intake/sensor.py"
_DRAIN, _TROUBLED = "sensors/intake/fair_drain.py", "tests/unit/sensors/intake/test_queue_order.py::"
_DELETE = "sensors/intake/store_and_delete.py"
_FORWARD, _DELIVERY = (
    "tests/unit/sensors/forward/test_forwarder.py::",
    "tests/unit/resources/forwarding/test_delivery.py::",
)
_A_REPLAY = "tests/spark/silver/test_history.py::test_every_merge_of_a_history_gives_what_a_replay_gives"
_A_FEED = (
    "tests/spark/silver/test_change_feeds.py::"
    "test_partial_rows_and_truncates_give_the_expected_rows_whenever_merges_run"
)
_MERGE, _MERGE_SQL, _PENDING = (f"assets/silver/{name}.py" for name in ("merge", "merge_sql", "pending"))
_REBUILDS = "tests/spark/silver/test_silver_rebuild.py::"
_REBUILT = "tests/unit/assets/silver/test_merge.py"
_OUTPUT = "tests/spark/files/test_repartition.py::"
_DATASETS = "tests/unit/assets/bronze/completion/test_datasets.py::"
_CENTRAL = "tests/spark/events/test_central_inventory.py::"
_UNUSABLE = "tests/local/s3/test_inventories.py::"
_STATISTICS = "tests/unit/platform/core/schema/test_column_statistics.py::"
_FORGOTTEN, _FORGET = "tests/spark/tables/test_suppression.py::", "tests/spark/tables/test_forget.py::"
_MAINTAINED = "tests/unit/assets/maintenance/"
_CATALOG, _SYNCED = "tests/local/catalog/test_glue.py::", "tests/unit/assets/catalog/test_sync.py::"
_EXPORT = "tests/spark/silver/test_export.py::test_each_change_is_exported_once_whatever_dies"
_COSTS = "tests/unit/platform/core/costs/test_table_cost.py::"
_VOID = "tests/faults/test_stale_batches.py::test_registered_file_overwritten_before_the_batch_is_finished"

MUTANTS = (
    Mutant(
        "messages are deleted before their hints are written",
        1,
        _DELETE,
        "    _store(lake, queue.name, intake)\n    queue.delete(messages)\n",
        "    queue.delete(messages)\n    _store(lake, queue.name, intake)\n",
        ("tests/unit/sensors/intake/test_tick.py::test_messages_are_deleted_after_all_that_came_of_them_is_kept",),
    ),
    Mutant(
        "the object of a row queue's messages is written after their delete",
        1,
        _DRAIN,
        "            return messages, write_row_objects(messages, table, self._lake.store.objects)\n",
        "            queue.delete(messages)\n"
        "            return messages, write_row_objects(messages, table, self._lake.store.objects)\n",
        ("tests/unit/sensors/intake/test_row_objects.py::test_messages_are_deleted_after_their_rows_are_kept",),
    ),
    Mutant(
        "of a webhook that came again later, a second row stays",
        1,
        "sensors/intake/row_objects.py",
        "min(row.origin.earliest for row in group)",
        "min(row.origin.sent_at for row in group)",
        (
            "tests/unit/sensors/intake/test_row_objects.py::test_an_object_names_the_times_at_which_equal_messages_may_have_come",
        ),
    ),
    Mutant(
        "of a message that came again, a second row stays",
        1,
        "assets/bronze/prepare/load/repeated_messages.py",
        "        if self._is_repeated(known):\n",
        "        if known is None and self._is_repeated(known):\n",
        ("tests/spark/events/test_row_queues.py::test_a_message_is_one_row_however_often_it_comes",),
    ),
    Mutant(
        "a batch of late rows says that the table holds none that are newer",
        1,
        "assets/bronze/prepare/load/repeated_messages.py",
        "max([before, *(rows_sent.last for rows_sent in self._sent)])",
        "max([0, *(rows_sent.last for rows_sent in self._sent)])",
        ("tests/unit/sensors/intake/test_row_objects.py::test_a_batch_says_how_new_the_rows_up_to_it_may_be",),
    ),
    Mutant(
        "a message that cannot be understood is deleted without a copy",
        1,
        _DELETE,
        "store.quarantine.keep_message(reject.event_id, reject.raw, reject.reason, home, reject.origin)\n",
        '""\n',
        ("tests/unit/sensors/intake/test_tick.py::test_messages_are_deleted_after_all_that_came_of_them_is_kept",),
    ),
    Mutant(
        "a dead letter is deleted before it is sent",
        1,
        "assets/operations/dead_letters.py",
        "                sent = source.send_again(part, as_first=rows)\n",
        "                dead.delete(part)\n                sent = source.send_again(part, as_first=rows)\n",
        (
            "tests/unit/assets/operations/test_dead_letters.py::test_a_dead_letter_is_deleted_after_it_was_sent_and_only_if_it_was",
        ),
    ),
    Mutant(
        "a batch that was found is committed without another look at its files",
        2,
        _RUN,
        "verify_files=found",
        "verify_files=False",
        (_VOID,),
    ),
    Mutant(
        "a commit that carries another digest is recorded",
        2,
        _RECORD,
        "    if landed.digest != batch.digest:\n",
        "    if landed.digest != batch.digest and not landed.digest:\n",
        (
            "tests/spark/tables/test_silent_losses.py"
            "::test_l9_a_batch_that_is_not_the_one_that_landed_touches_neither_ledger_nor_inbox",
        ),
    ),
    Mutant(
        "the hints of a void batch are dropped",
        2,
        _RECORD,
        'void=landed.outcome == "void")\n\n\ndef finish',
        "void=False)\n\n\ndef finish",
        (_VOID,),
    ),
    Mutant(
        "batch n is put whether there is one or not",
        3,
        "resources/lake_root/batches.py",
        "        if self._root.objects.put_if_absent(self._root.bucket, self._key(batch.n),",
        "        if self._root.objects.put(self._root.bucket, self._key(batch.n),",
        ("tests/faults/test_zombies.py::test_stopped_at_every_seam_and_resumed_two_batches_later",),
    ),
    Mutant(
        "a paused run puts deferred hints back a second time",
        3,
        _RECORD,
        "    return not put and not waiting.isdisjoint(batch.manifests)\n",
        "    return not put\n",
        ("tests/faults/test_zombies.py::test_stopped_at_every_seam_and_resumed_two_batches_later",),
    ),
    Mutant(
        "a run is asked for while one is active",
        3,
        "sensors/intake/run_requests.py",
        "held=runs.active | tables_in_backoff(",
        "held=tables_in_backoff(",
        ("tests/unit/platform/test_definitions.py::test_a_table_with_an_active_run_is_left_alone",),
    ),
    Mutant(
        "a queue that fails ends the tick of all",
        1,
        "resources/side_by_side.py",
        "    if not isinstance(error, Exception):\n",
        "    if error:\n",
        (f"{_TROUBLED}test_a_queue_that_is_dead_or_refuses_a_delete_delays_nobody",),
    ),
    Mutant(
        "a queue in trouble is waited for by every tick",
        1,
        "sensors/intake/queue_order.py",
        "        self._troubled = [*before, *failed]\n",
        "        self._troubled = before\n",
        (f"{_TROUBLED}test_half_of_800_queues_being_dead_delays_the_others_for_two_ticks_and_then_no_more",),
    ),
    Mutant(
        "queues are always begun in the same order",
        1,
        "sensors/intake/queue_order.py",
        'self._first = unreached[0] if unreached else ""',
        'self._first = ""',
        (f"{_TROUBLED}test_where_a_tick_s_time_is_too_short_the_next_one_begins_with_who_had_none",),
    ),
    Mutant(
        "the run of a table's last materialization is forgotten",
        6,
        "assets/maintenance/history.py",
        "        if run_id not in kept:\n",
        "        if run_id:\n",
        ("tests/unit/assets/maintenance/test_history.py::test_old_runs_are_forgotten_but_the_last_of_each_table",),
    ),
    Mutant(
        "two queues make tables that overlap",
        1,
        "sensors/intake/known_tables.py",
        "                if self._tables is before:\n",
        "                if self._tables is not None:\n",
        (f"{_TROUBLED}test_what_one_queue_makes_a_table_no_other_makes_an_overlapping_one",),
    ),
    Mutant(
        "the tour of the inbox has no time of its own",
        1,
        _INTAKE,
        "        until = time.monotonic() + INBOX_SECONDS\n",
        "        until = time.monotonic()\n",
        ("tests/unit/platform/test_definitions.py::test_the_inbox_has_a_time_of_its_own_however_long_the_queues_took",),
    ),
    Mutant(
        "the tour goes back to its beginning while no more runs may be asked for",
        1,
        "sensors/intake/due_tables.py",
        "    due_tables = DueTables(last=after)\n",
        "    due_tables = DueTables()\n",
        ("tests/unit/sensors/intake/test_tick.py::test_with_many_tables_that_are_always_ready_none_is_starved",),
    ),
    Mutant(
        "a tick counts tables where it may request runs",
        1,
        "sensors/intake/shared_runs.py",
        "        if own + -(-cold_tables // MAX_SHARED_TABLES) > max_runs:\n",
        "        if own + cold_tables > max_runs:\n",
        ("tests/unit/sensors/intake/test_tick.py::test_a_tour_ends_where_another_run_would_be_needed",),
    ),
    Mutant(
        "files of unknown size count as small",
        1,
        "sensors/intake/shared_runs.py",
        "is_known = backlog.unsized <= COLD_HINTS",
        "is_known = True",
        ("tests/unit/sensors/intake/test_tick.py::test_files_of_unknown_size_do_not_count_as_small",),
    ),
    Mutant(
        "a request to forget is done before VACUUM's whole hours are over",
        12,
        "assets/maintenance/vacuum.py",
        "return _HOUR * math.ceil(kept / _HOUR)",
        "return kept",
        (_MAINTAINED + "test_vacuum.py::test_the_retention_of_a_table_is_that_of_its_properties_in_whole_hours",),
    ),
    Mutant(
        "a table of an active shared run gets a second run",
        3,
        "sensors/run_history.py",
        "for run in runs for table in held_tables(run))",
        'for run in runs for table in [run.tags.get(PARTITION_TAG, "")])',
        ("tests/unit/platform/test_definitions.py::test_a_table_of_an_active_shared_run_is_left_alone",),
    ),
    Mutant(
        "the queue starts a run of a table that a shared run holds",
        3,
        "platform/launcher/run_coordinator.py",
        '"limit": 0}',
        '"limit": 1}',
        ("tests/unit/platform/test_dagster_limits.py::test_a_run_of_a_table_waits_for_the_shared_run_that_holds_it",),
    ),
    Mutant(
        "a table's failure ends the run that others share with it",
        3,
        "assets/bronze/shared_run.py",
        "                    stopped = self.lost()\n",
        '                    stopped = self.lost() or "a table failed"\n',
        ("tests/unit/assets/bronze/test_shared_run.py::test_one_table_s_failure_is_its_own",),
    ),
    Mutant(
        "silver takes what is in the table and not yet in the ledger",
        5,
        _PENDING,
        "    version, n = table.ledger.clock()\n",
        "    version, _ = table.ledger.clock()\n"
        '    bronze_app = f"tidegate:{lake.id}:{table.table_key}:{table.birth.generation}"\n'
        "    n = lake.delta.table_state(table.birth.location, bronze_app).txn or 0\n",
        ("tests/spark/silver/test_silver_attacks.py::test_silver_goes_no_further_than_the_ledger",),
    ),
    Mutant(
        "a merge's mark stays on the session that other writes use",
        5,
        "resources/spark/delta.py",
        '            row = self._procedures.call_one(\n                "merge",\n',
        '            self.session.conf.set("spark.databricks.delta.write.txnAppId", app_id)\n'
        '            self.session.conf.set("spark.databricks.delta.write.txnVersion", str(number))\n'
        '            row = self._procedures.call_one(\n                "merge",\n',
        ("tests/spark/silver/test_silver_attacks.py::test_b5_the_txn_of_a_merge_does_not_leak_into_later_writes",),
    ),
    Mutant(
        "a merge fails where another commit came first",
        5,
        "resources/spark/attempts.py",
        '_OVERTAKEN = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "TIDEGATE_BUSY")',
        '_OVERTAKEN = ("DELTA_CONCURRENT",)',
        (
            "tests/spark/silver/test_silver_attacks.py::"
            "test_f24_a_merge_that_loses_to_another_commit_starts_again_from_a_fresh_look",
        ),
    ),
    Mutant(
        "of two rows of a key the older one counts",
        5,
        "platform/core/silver/rules.py",
        "{part.path} DESC NULLS LAST",
        "{part.path} ASC NULLS LAST",
        ("tests/spark/silver/test_silver_attacks.py::test_b6_duplicates_within_one_range_become_the_newest_row",),
    ),
    Mutant(
        "a partial row that comes late gives its values if no merge ran before it",
        5,
        "assets/silver/newest_rows.py",
        'WHERE _tidegate_before IS NULL OR {order} >= _tidegate_before"',
        'WHERE true"',
        (_A_FEED,),
    ),
    Mutant(
        "a late change does not cut the row in which it falls",
        5,
        "assets/silver/history_rows.py",
        "WHERE {order} >= k.first OR {until}",
        "WHERE {order} >= k.first",
        (_A_REPLAY,),
    ),
    Mutant(
        "a change of a history stays next to the one of its order that it replaces",
        5,
        "assets/silver/history_rows.py",
        """replaced |= {file: "if(_tidegate_files > 1, '', _tidegate_in_file)", row: "_tidegate_in_row"}""",
        "replaced |= {}",
        (_A_REPLAY,),
    ),
    Mutant(
        "a delete does not end its key",
        5,
        "assets/silver/history_rows.py",
        "sum(if({DELETED}, 1, 0))",
        "sum(if({DELETED}, 0, 0))",
        (_A_REPLAY,),
    ),
    Mutant(
        "equal values of a history are not joined",
        5,
        "assets/silver/history_rows.py",
        "{DELETED} OR NOT ({continues})",
        "{DELETED} OR true OR NOT ({continues})",
        (_A_REPLAY,),
    ),
    Mutant(
        "a key that the next dump does not have stays",
        5,
        "assets/silver/snapshot_rows.py",
        "(_tidegate_new OR _tidegate_next_new)",
        "(_tidegate_new AND _tidegate_next_new)",
        ("tests/spark/silver/test_snapshots.py",),
    ),
    Mutant(
        "a truncate is forgotten once it is merged",
        5,
        "assets/silver/truncate.py",
        "    stays = known\n",
        "    stays = None\n",
        ("tests/spark/silver/test_change_feeds.py::test_rows_of_debezium_become_the_table_of_the_database",),
    ),
    Mutant(
        "a rebuild keeps a truncate that bronze does not have any more",
        5,
        "assets/silver/truncate.py",
        "stays = before = None",
        "before = None",
        ("tests/unit/assets/silver/test_truncate.py",),
    ),
    Mutant(
        "a row that an earlier merge left out of a dump does not show that the dump has its key",
        5,
        "assets/silver/snapshot_rows.py",
        '(dropped, "false")',
        '(None, "false")',
        ("tests/spark/silver/test_snapshots.py::test_dumps_give_the_newest_dump_and_the_history_of_all",),
    ),
    Mutant(
        "an older row gives a part of the order",
        5,
        "platform/core/silver/rules.py",
        "not in _roots((*keys, *order))}",
        "not in _roots(keys)}",
        ("tests/unit/platform/core/silver/test_rules.py::test_parts_of_key_and_order_have_no_value_of_an_older_row",),
    ),
    Mutant(
        "a change of before a column came gives the column NULL",
        5,
        "assets/silver/history_rows.py",
        "if column in self._rules.ignored_nulls else ''",
        "if False else ''",
        (f"{_REBUILDS}test_a_rebuild_gives_what_merges_gave",),
    ),
    Mutant(
        "a rebuild keeps values of columns that lake.yaml excludes",
        5,
        _MERGE_SQL,
        "field.name.lower() not in known]",
        "field.name.lower() in ()]",
        (f"{_REBUILDS}test_a_rebuild_gives_what_lake_yaml_says_now",),
    ),
    Mutant(
        "a truncate whose merge died after recording it deletes no row",
        5,
        "assets/silver/truncate.py",
        "Truncate(newest, is_due=found is not None)",
        "Truncate(newest, is_due=newest != known)",
        (_A_FEED,),
    ),
    Mutant(
        "a partial row keeps values of a row that a truncate deleted",
        5,
        _MERGE_SQL,
        'f" OR {truncated}" if truncated else ""',
        '""',
        (_A_FEED,),
    ),
    Mutant(
        "a truncate deletes only rows whose keys come again",
        5,
        "platform/core/silver/merge_mode.py",
        "[*clauses[:first], *deletes, *clauses[first:]]",
        "[*clauses[:first], *clauses[first:]]",
        ("tests/unit/platform/core/silver/test_merge_mode.py::test_a_truncate_deletes_older_rows_in_every_mode",),
    ),
    Mutant(
        "an older row that comes late replaces a newer one",
        5,
        _MERGE_SQL,
        "newer if is_keyed and is_plain else None,",
        '"true",',
        ("tests/spark/silver/test_silver_attacks.py::test_b1_late_older_row_after_delete_does_not_resurrect",),
    ),
    Mutant(
        "a comparison of silver with bronze does not look at the values of rows of an equal order",
        5,
        "assets/silver/audit/comparison.py",
        "THEN NOT exists(a.rows, row -> row.v <=> b.row.v AND row.d = b.row.d)",
        "THEN false",
        (
            "tests/spark/silver/test_silver_equals_bronze.py::"
            "test_a_row_that_bronze_does_not_give_fails_the_check_with_its_key",
        ),
    ),
    Mutant(
        "the history of a key does not look at truncates between two changes",
        5,
        "platform/core/silver/fates/intervals.py",
        "        now = deletes + sum(rank >= change.rank for rank, _ in rules.truncates)\n",
        "        now = deletes\n",
        (
            "tests/unit/platform/core/silver/fates/test_intervals.py::"
            "test_a_truncate_ends_what_is_valid_then_and_nothing_is_carried_over_it",
        ),
    ),
    Mutant(
        "a late change does not end the interval that it cuts",
        5,
        "assets/silver/history_rows.py",
        "until = f\"t.{VALID_TO} IS NULL OR {self._as_order(f't.{VALID_TO}')} >= k.first\"",
        'until = f"t.{VALID_TO} IS NULL"',
        (
            "tests/spark/silver/test_silver_equals_bronze.py::"
            "test_intervals_that_bronze_does_not_give_fail_the_check_and_why_shows_them",
        ),
    ),
    Mutant(
        "silver may keep a row of a full dump that is not the newest",
        5,
        "platform/core/silver/fates/row_fates.py",
        "best.deletes and not best.is_implied and not silver.deleted",
        "best.deletes and not silver.deleted",
        (
            "tests/unit/platform/core/silver/fates/test_row_fates.py::"
            "test_a_key_that_a_dump_does_not_have_has_no_row_whatever_its_tombstone_is",
        ),
    ),
    Mutant(
        "a rebuild of silver keeps rows that bronze does not give",
        5,
        _MERGE_SQL,
        'mirrors_removals=work.spec.on_removed == "full" or work.rebuilds,',
        'mirrors_removals=work.spec.on_removed == "full",',
        ("tests/spark/silver/test_silver_rebuild.py::test_a_rebuild_makes_silver_what_bronze_gives_in_one_commit",),
    ),
    Mutant(
        "a rebuild of silver from a batch keeps rows since then that bronze does not give",
        5,
        "platform/core/silver/merge_mode.py",
        "t.{CHANGED_BATCH} >= {{since}} THEN DELETE",
        "t.{CHANGED_BATCH} > 99 THEN DELETE",
        ("tests/unit/platform/core/silver/test_merge_mode.py::test_each_mode_does_to_each_row_what_its_clauses_say",),
    ),
    Mutant(
        "a rebuild of silver from a batch moves the mark over a batch that was not merged",
        5,
        _MERGE,
        "return replace(work, n=work.mark)",
        "return work",
        (_REBUILT,),
    ),
    Mutant(
        "a rebuild of silver from a batch merges only what waited when it began",
        5,
        _MERGE,
        "if attempt >= MAX_CATCH_UPS and not",
        "if not",
        (_REBUILT,),
    ),
    Mutant(
        "a rebuild of silver from a batch leaves out keys of which only silver has a row since then",
        5,
        "assets/silver/newest_rows.py",
        'chosen += f"UNION SELECT {keys} FROM {table} WHERE {CHANGED_BATCH} >= {since}"',
        'chosen += f"UNION SELECT {keys} FROM {table} WHERE {CHANGED_BATCH} >= {since} AND false"',
        ("tests/unit/assets/silver/test_newest_rows.py",),
    ),
    Mutant(
        "a rebuild of silver from a batch computes its keys from the rows since then",
        5,
        "assets/silver/newest_rows.py",
        "LEFT SEMI JOIN ({chosen}) k ON {same}",
        "LEFT SEMI JOIN ({chosen}) k ON {same} AND r.{batch} >= {since}",
        ("tests/unit/assets/silver/test_newest_rows.py",),
    ),
    Mutant(
        "a run that merges no rows says that each expectation holds",
        2,
        "assets/silver/expect/checks.py",
        'if merged and merged.volume["rows"]:',
        "if merged or not merged:",
        ("tests/unit/assets/silver/expect/test_checks.py",),
    ),
    Mutant(
        "rows that violate an expectation of expect_or_drop enter silver",
        5,
        "platform/core/silver/rules.py",
        "skipped=skipped(silver),",
        "skipped=silver.skip_when,",
        (
            "tests/spark/silver/test_expectations.py::"
            "test_rows_that_violate_an_expectation_are_counted_dropped_or_fail_the_merge",
        ),
    ),
    Mutant(
        "a first merge after a reset compares numbers of two generations",
        5,
        "platform/core/silver/merge_mode.py",
        "[] if self is MergeMode.AFTER_RESET else [f",
        "[f",
        ("tests/unit/platform/core/silver/test_merge_mode.py::test_each_mode_does_to_each_row_what_its_clauses_say",),
    ),
    Mutant(
        "a merge that takes a part of what waits marks all of it",
        5,
        "assets/silver/changes.py",
        "(work.n if taken == len(numbers) else numbers[taken - 1])",
        "work.n",
        ("tests/unit/assets/silver/test_changes.py::test_a_backlog_is_merged_in_steps_each_with_its_mark",),
    ),
    Mutant(
        "a first merge takes all that waits, whatever its limits are",
        5,
        "assets/silver/changes.py",
        "    return brought[taken - 1][0]",
        "    return work.n",
        ("tests/unit/assets/silver/test_changes.py::test_a_first_merge_of_much_is_in_steps",),
    ),
    Mutant(
        "the first step of a merge that takes rows out of silver leaves readers without the rest",
        5,
        "assets/silver/changes.py",
        'if work.spec.on_removed == "full" and work.silver.files > 0:',
        "if not work.n:",
        ("tests/unit/assets/silver/test_changes.py::test_a_merge_that_takes_rows_out_of_silver_has_one_step",),
    ),
    Mutant(
        "rows that were replaced while a first merge was under way stay in silver",
        5,
        "platform/core/silver/first_reading.py",
        "return min((",
        "return max((",
        ("tests/unit/platform/core/silver/test_first_reading.py::test_the_earliest_of_all_first_merges_counts",),
    ),
    Mutant(
        "a step of a registered table has files of later batches",
        5,
        "assets/silver/changes.py",
        '    numbers = numbers.where(F.col("_tidegate_n") <= upto)\n',
        "",
        ("tests/spark/silver/test_history.py::test_a_first_merge_in_steps_is_what_a_replay_gives",),
    ),
    Mutant(
        "a rebuild from a batch leaves a batch that replaced rows",
        5,
        "assets/silver/merge.py",
        "if attempt >= MAX_CATCH_UPS and not waiting_batch_replaces_rows(work):",
        "if attempt >= MAX_CATCH_UPS:",
        (
            "tests/unit/assets/silver/test_merge.py::"
            "test_a_rebuild_from_a_batch_never_leaves_a_batch_that_replaced_rows",
        ),
    ),
    Mutant(
        "files that are gone without a word are left out of a merge",
        5,
        "assets/silver/changes.py",
        "if path not in explained]))",
        "if path not in explained and not path]))",
        (
            "tests/spark/silver/test_silver_attacks.py::test_b3_a_range_that_cannot_be_had_is_merged_in_full_and_says_so",
        ),
    ),
    Mutant(
        "a batch whose run fails later is not shown",
        6,
        "assets/bronze/run.py",
        "        listener.batch_recorded(result.batch, result.landed)\n",
        "",
        ("tests/unit/assets/bronze/test_run.py::test_each_batch_is_reported_as_soon_as_it_is_recorded",),
    ),
    Mutant(
        "a window of two ticks lasts three",
        6,
        "platform/core/bronze/window.py",
        "return window - min(window, every) / 2",
        "return window",
        (
            "tests/unit/platform/core/bronze/test_window.py::test_the_tick_nearest_to_the_end_of_the_window_requests_the_run",
        ),
    ),
    Mutant(
        "a batch that a run recorded and did not finish is not shown",
        6,
        "assets/bronze/run.py",
        "        return BatchResult(half_recorded, landed, found=True)\n",
        "        waiting = None\n",
        ("tests/unit/assets/bronze/test_run.py::test_a_batch_that_is_recorded_and_not_finished_is_reported",),
    ),
    Mutant(
        "an event that cannot be understood is not counted",
        6,
        "sensors/intake/message_routing.py",
        '            intake.count("malformed", reject.records)\n',
        "",
        ("tests/unit/sensors/intake/test_tick.py::test_every_event_received_is_a_hint_or_counted",),
    ),
    Mutant(
        "deferred hints are dropped",
        6,
        _RECORD,
        "        hints = list(batch.deferred)\n",
        "        hints = []\n",
        ("tests/spark/events/test_look.py::test_a_key_about_which_s3_does_not_say_is_deferred_and_ingested_later",),
    ),
    Mutant(
        "manifests are deleted by their prefix",
        6,
        _RECORD,
        "    table.inbox.delete(batch.manifests)\n",
        "    table.inbox.delete([one.id for one in table.inbox.waiting()])\n",
        ("tests/spark/events/test_look.py::test_a_key_about_which_s3_does_not_say_is_deferred_and_ingested_later",),
    ),
    Mutant(
        "the lake's own files are sources",
        7,
        "platform/core/keys/object_key.py",
        'part.startswith(("_", "."))',
        'part.startswith(".")',
        ("tests/unit/platform/core/keys/test_object_key.py",),
    ),
    Mutant(
        "an overwritten file stays live in a registered table",
        8,
        _PLANNING,
        "            plan.drop[key] = (row, row)\n",
        "            plan.rows.append(row)\n",
        ("tests/unit/platform/core/bronze/test_plan.py",),
    ),
    Mutant(
        "any share of a table may vanish at once",
        8,
        "assets/bronze/removals.py",
        "REMOVAL_SHARE = 0.5\n",
        "REMOVAL_SHARE = 2.0\n",
        ("tests/spark/tables/test_ownership.py::test_many_removals_at_once_stop_and_ask_and_the_tag_allows_them",),
    ),
    Mutant(
        "a bucket that is gone counts as an empty one",
        8,
        _LOOK,
        "    if any(isinstance(probe, S3Gone) for probe in found.values()):\n        require_bucket(table)\n",
        "    return\n",
        ("tests/spark/events/test_look.py::test_a_bucket_that_is_gone_stops_the_run_and_removes_nothing",),
    ),
    Mutant(
        "an inventory knows more than what the ledger was told later",
        6,
        "resources/inventory/differences.py",
        ' & ~F.col("newer")',
        "",
        ("tests/spark/events/test_inventory.py::test_f21_an_inventory_shows_exactly_the_changes_without_an_event",),
    ),
    Mutant(
        "403 is taken for 404",
        8,
        "resources/aws/s3.py",
        "            if status == 404:\n                return S3Gone()\n",
        "            if status in (403, 404):\n                return S3Gone()\n",
        ("tests/local/s3/test_object_store.py::test_what_a_probe_says",),
    ),
    Mutant(
        "committed bytes enter again",
        6,
        _PLANNING,
        "not registered and (not same_bytes(probe, state) or _replaces(probe, state, items) is not None)\n",
        "not registered\n",
        ("tests/unit/platform/core/bronze/test_plan.py",),
    ),
    Mutant(
        "a refused look is remembered as a state",
        9,
        "resources/ledger.py",
        " & ~refused\n",
        "\n",
        ("tests/spark/events/test_look.py::test_access_denied_is_quarantined_and_the_live_entry_stays",),
    ),
    Mutant(
        "files are not asked for again after they were read",
        10,
        _LOAD,
        "        if changed := self._changed(files):\n",
        "        if changed := self._changed([]):\n",
        (
            "tests/spark/events/test_look.py"
            "::test_a_loaded_file_that_changes_while_it_is_read_is_deferred_and_the_set_staged_again",
        ),
    ),
    Mutant(
        "a column becomes narrower again with a file that was not changed",
        10,
        "platform/core/schema/table_schema.py",
        'if known == given or (holds(given, known) and "[]" not in path):',
        "if known == given:",
        (
            "tests/unit/platform/core/schema/test_table_schema.py::test_a_column_becomes_wider_without_loss_and_never_narrower",
        ),
    ),
    Mutant(
        "a column becomes wider without the feature that readers need",
        10,
        "platform/core/schema/table_schema.py",
        "widened = self.widened or (self.born and any(self.retyped(found)))",
        "widened = self.widened",
        (
            "tests/unit/platform/core/schema/test_table_schema.py::test_a_column_becomes_wider_without_loss_and_never_narrower",
        ),
    ),
    Mutant(
        "what no column takes is not rescued",
        10,
        _LOAD,
        "        rescued = rescued_column(self.table)\n",
        "        rescued = None\n",
        ("tests/spark/files/test_rescue.py::test_a_table_is_born_with_the_columns_of_its_first_files",),
    ),
    Mutant(
        "a file of which some lines are no rows by themselves is taken as far as its lines are",
        10,
        _LOAD,
        "if torn := {file.candidate.key for file in files if counted[file.candidate.key].torn}:",
        "if torn := set[str]():",
        ("tests/spark/files/test_bad_input.py::test_csv_files_that_do_not_fit_are_quarantined",),
    ),
    Mutant(
        "doubles have an upper bound",
        10,
        "platform/core/files/parquet/bounds.py",
        "return None if upper or not math.isfinite(value) else value",
        "return None if not math.isfinite(value) else value",
        ("tests/unit/platform/core/files/parquet/test_footer.py::test_floating_point_has_no_upper_bound",),
    ),
    Mutant(
        "a lake is used on an endpoint that was not proven",
        11,
        "resources/lake_root/identity.py",
        "        self._prove_endpoint()\n",
        "",
        ("tests/local/s3/test_lake_endpoint.py",),
    ),
    Mutant(
        "the other rows of a data file go with those that are replaced",
        2,
        "assets/bronze/prepare/load/replaced_rows.py",
        "        prepared.adds += self._staying(files, leaving, prepared.base or prepared.schema)\n",
        "",
        ("tests/spark/tables/test_replace.py",),
    ),
    Mutant(
        "a redriven file's rows are added to those that it has",
        2,
        "assets/bronze/prepare/load/load.py",
        "        replacing.finish(self.prepared)\n",
        "",
        ("tests/spark/tables/test_replace.py",),
    ),
    Mutant(
        "a hint of a rebuild that comes twice replaces rows that are gone",
        2,
        _PLANNING,
        "if replaces.decided == state.n), None)",
        "), None)",
        ("tests/unit/assets/operations/test_rebuild.py",),
    ),
    Mutant(
        "a file that is refused gives the table its columns",
        10,
        "assets/bronze/prepare/load/load.py",
        "if self.prepared.schema != before and (hopeless := self.columns.hopeless(files, counted)):",
        "if None and (hopeless := self.columns.hopeless(files, counted)):",
        (
            "tests/spark/files/test_columns_join.py::test_new_columns_of_loaded_files_join_the_table_and_a_strict_one_refuses_them",
        ),
    ),
    Mutant(
        "a copy has its source's name, whatever its content is",
        8,
        "platform/core/keys/own_paths.py",
        "/{etag}.parquet",
        ".parquet",
        ("tests/unit/platform/core/keys/test_own_paths.py",),
    ),
    Mutant(
        "names are not checked before the decision",
        2,
        "platform/core/schema/table_schema.py",
        "        check_names(fields, reserved=reserved)\n",
        "",
        (
            "tests/spark/files/test_columns_join.py::test_a_table_is_born_by_its_first_good_file_and_refused_ones_shape_nothing",
        ),
    ),
    Mutant(
        "whatever Spark raises is a file's fault",
        10,
        "assets/bronze/prepare/load/spark_errors.py",
        "return Fault.EITHER if condition.startswith(_EITHER) else Fault.ENVIRONMENT",
        "return Fault.EITHER",
        ("tests/unit/assets/bronze/prepare/load/test_spark_errors.py",),
    ),
    Mutant(
        "a loaded file is deleted whatever lies there by then",
        8,
        "resources/aws/s3.py",
        "            self._client.delete_object(Bucket=bucket, Key=key, IfMatch=_condition(version))\n",
        "            self._client.delete_object(Bucket=bucket, Key=key)\n",
        ("tests/local/s3/test_after_load.py::test_a10_a_file_that_is_overwritten_before_its_removal_stays",),
    ),
    Mutant(
        "the same bytes with another etag are taken for other ones",
        6,
        "platform/core/bronze/same_bytes.py",
        " and bool(one.checksum) and one.checksum == other.checksum\n",
        " and False\n",
        (
            "tests/unit/platform/core/bronze/test_plan.py::test_bytes_are_the_same_by_their_checksum_where_a_copy_has_another_etag",
        ),
    ),
    Mutant(
        "of a file that was removed the ledger forgets which bytes are in the table",
        6,
        _PLANNING,
        "            plan.rows.append(_keeping(row, state, state.etag) if live and state is not None else row)\n",
        "            plan.rows.append(row)\n",
        ("tests/unit/platform/core/bronze/test_plan.py::test_the_row_of_a_removal_names_the_bytes_whose_rows_stay",),
    ),
    Mutant(
        "a run takes files away after a reset has counted on them",
        8,
        "assets/bronze/after_load.py",
        "            n = table.batches.require_current(n)\n",
        "            n = max(n, 0)\n",
        ("tests/local/s3/test_after_load.py::test_a_run_that_a_reset_overtook_removes_nothing",),
    ),
    Mutant(
        "a reset goes on although files went since it counted",
        8,
        "assets/operations/reset.py",
        "    known = set(plan.lost)\n",
        "    known = {one.key for one in committed}\n",
        ("tests/spark/tables/test_reset.py::test_a_run_that_removes_files_and_a_reset_lose_no_row_between_them",),
    ),
    Mutant(
        "a file that was moved after it was loaded is taken for removed",
        6,
        _PLANNING,
        "    if state.status in (Status.COMMITTED, Status.REMOVED) and state.etag in removed_etags:\n",
        "    if state.status == Status.MOVED and state.etag in removed_etags:\n",
        ("tests/unit/platform/core/bronze/test_plan.py::test_a_file_that_after_load_removed_is_moved_and_not_removed",),
    ),
    Mutant(
        "a copy that may not be written puts its file into the quarantine",
        6,
        "assets/bronze/prepare/prepared.py",
        "                self.obstacle = str(error)\n                self.defer(candidate)\n",
        "                self.refused(candidate, str(error))\n",
        (
            "tests/unit/assets/bronze/prepare/test_prepared.py::"
            "test_files_that_wait_for_a_permission_are_blamed_for_nothing_and_stop_a_run_that_has_nothing_else",
        ),
    ),
    Mutant(
        "a batch of files that wait for a permission is decided, window for window",
        6,
        _PREPARE,
        "    prepared.require_progress()\n",
        "",
        (
            "tests/spark/events/test_access_denied.py::"
            "test_a_copy_that_may_not_be_written_holds_up_no_other_file_and_is_no_file_s_fault",
        ),
    ),
    Mutant(
        "a float of the path is rounded",
        10,
        "platform/core/schema/partitions.py",
        "return bool(_FLOAT.fullmatch(value)) and _keeps(value, name)",
        "return bool(_FLOAT.fullmatch(value))",
        ("tests/unit/platform/core/schema/test_table_schema.py",),
    ),
    Mutant(
        "a reason goes into a batch at any length",
        2,
        _PLANNING,
        "reason=bounded(reason)",
        "reason=reason",
        ("tests/unit/platform/core/bronze/test_ledger.py",),
    ),
    Mutant(
        "an older version's row is not known to be overwritten",
        2,
        "platform/core/bronze/ledger.py",
        "    overwritten = older_reasons.is_overwritten(reason)\n",
        "    overwritten = False\n",
        ("tests/unit/platform/core/bronze/test_samples.py",),
    ),
    Mutant(
        "an overwritten key enters again once it has other bytes",
        2,
        _PLANNING,
        "(registered and state.cause is Cause.OVERWRITTEN)",
        "(registered and state.cause is None)",
        ("tests/unit/platform/core/bronze/test_plan.py",),
    ),
    Mutant(
        "a batch of old is recorded with reasons of any length",
        2,
        "resources/ledger.py",
        "    body = replace(row, reason=bounded(row.reason)).to_dict()\n",
        "    body = row.to_dict()\n",
        ("tests/unit/platform/core/bronze/test_ledger.py",),
    ),
    Mutant(
        "what a packed file holds has no bound",
        10,
        "assets/bronze/prepare/room.py",
        "        if self._left < 0:\n",
        "        if self._left is None:\n",
        ("tests/unit/assets/bronze/prepare/test_room.py",),
    ),
    Mutant(
        "a file that another writer's commit added makes every batch void",
        6,
        "assets/bronze/prepare/register.py",
        'work.previous.outcome != "void"',
        'work.previous.outcome == "void"',
        (
            "tests/spark/tables/test_silent_losses.py"
            "::test_a_file_that_another_writer_s_commit_added_is_not_asked_for_for_ever",
        ),
    ),
    Mutant(
        "a fork that nobody heard of takes a run that was started in another way",
        3,
        "platform/launcher/run_locks.py",
        "        if os.pread(file, len(_GIVEN_UP), 0) == _GIVEN_UP:\n",
        "        if not _GIVEN_UP:\n",
        (
            "tests/unit/platform/launcher/test_run_locks.py::test_a_run_that_was_given_up_is_taken_by_no_process_and_has_not_died",
        ),
    ),
    Mutant(
        "columns that Delta refuses are decided on",
        2,
        "assets/bronze/prepare/register.py",
        "taken.schema != prepared.base and refusal(table, work, taken.schema)",
        "False and refusal(table, work, taken.schema)",
        (
            "tests/unit/assets/bronze/prepare/test_register.py::"
            "test_a_file_whose_columns_the_table_refuses_stays_out_alone_and_shapes_nothing",
        ),
    ),
    Mutant(
        "a batch holds small objects without a bound",
        10,
        "assets/bronze/small_objects.py",
        "            fits = size <= self._room\n",
        "            fits = True\n",
        ("tests/unit/assets/bronze/test_small_objects.py",),
    ),
    Mutant(
        "silver takes fields by their place",
        5,
        "assets/silver/aligned.py",
        "source = own.get(field.name.lower())",
        "source = dict(zip(wanted_fields, fields)).get(field)",
        ("tests/spark/silver/test_silver_columns.py",),
    ),
    Mutant(
        "a redriven file that was moved is read beside its rows",
        1,
        "assets/operations/redrive.py",
        "        if state is None or not state.in_table:\n",
        "        if state is None or state.status != Status.COMMITTED:\n",
        (
            "tests/unit/assets/operations/test_redrive.py::test_a_file_that_a_rebuild_refused_is_read_again_in_the_place_of_its_rows",
        ),
    ),
    Mutant(
        "what routes forward is written to the outbox after its message is deleted",
        1,
        _DELETE,
        "    _store(lake, queue.name, intake)\n    queue.delete(messages)\n",
        "    later, intake.outgoing = intake.outgoing, {}\n"
        "    _store(lake, queue.name, intake)\n"
        "    queue.delete(messages)\n"
        "    lake.store.outbox.put((Lane(route), found) for route, found in later.items())\n",
        (f"{_FORWARD}test_a_message_is_deleted_after_the_outbox_has_it",),
    ),
    Mutant(
        "a call to a route's FIFO destination has two messages of a group",
        1,
        "resources/forwarding/delivery.py",
        "            groups.add(group)\n",
        "",
        (f"{_DELIVERY}test_order_is_kept_within_a_group_and_a_refusal_stops_its_group_only",),
    ),
    Mutant(
        "a route's events are sent to a queue of the lake itself, which has the tag",
        1,
        "resources/forwarding/tagged_queues.py",
        " and name not in self._excluded",
        "",
        (f"{_DELIVERY}test_queues_are_found_by_their_tag_on_all_pages",),
    ),
    Mutant(
        "an object of a route's outbox is deleted before what is left of it is stored",
        1,
        "resources/lake_root/outbox.py",
        "        self.put([(found.lane, left)], found.name.ulid)\n",
        "        self.delete(found)\n        self.put([(found.lane, left)], found.name.ulid)\n",
        (f"{_FORWARD}test_what_is_left_of_an_object_is_stored_before_the_object_is_deleted",),
    ),
    Mutant(
        "a route's event whose tags S3 refuses is forwarded without its type",
        1,
        "sensors/intake/event_typing.py",
        "            except ObjectGone:\n",
        "            except RuntimeError:\n",
        (f"{_FORWARD}test_tags_that_s3_refuses_leave_their_message_in_its_queue_and_no_other",),
    ),
    Mutant(
        "a message whose event has tags that S3 refuses is taken without its type",
        1,
        "sensors/intake/fair_drain.py",
        "            parsed = [one for one in parsed if one.message.id not in types.refused]\n",
        "",
        (f"{_FORWARD}test_tags_that_s3_refuses_leave_their_message_in_its_queue_and_no_other",),
    ),
    Mutant(
        "a decision without an event has the type of its key although its event had another",
        6,
        _PLANNING,
        "    known = event or state\n",
        "    known = event\n",
        (
            "tests/unit/platform/core/bronze/test_plan.py::"
            "test_a_decision_has_the_type_of_its_event_or_else_the_one_that_is_known",
        ),
    ),
    Mutant(
        "the ledger has the batch of an output before its objects are copied",
        2,
        "assets/bronze/commit.py",
        "        publish(table, batch, found=verify_files)\n",
        "        from tidegate.platform.core.bronze.ledger import Effort\n"
        '        table.ledger.append(batch, CommitResult(-1, "committed", batch.digest, None, False), "", Effort())\n'
        "        publish(table, batch, found=verify_files)\n",
        (f"{_OUTPUT}test_a_run_that_dies_at_a_seam_leaves_no_row_twice_and_loses_none",),
    ),
    Mutant(
        "a batch of converted files forgets the columns of the batches before",
        2,
        "assets/bronze/prepare/table_columns.py",
        "last = table.batches.read(work.n - 1) if work.n > 1 else None",
        "last = None",
        ("tests/spark/files/test_convert.py::test_rows_become_parquet_with_the_columns_of_a_table",),
    ),
    Mutant(
        "a file that changed while it was concatenated is blamed or written",
        1,
        "assets/bronze/prepare/concatenate.py",
        "        changed = self._changed(files)\n",
        "        changed: set[str] = set()\n",
        (
            "tests/spark/files/test_concatenate.py::test_a_file_that_is_overwritten_after_the_look_waits_and_is_not_blamed",
        ),
    ),
    Mutant(
        "objects of two batches of an output have one name",
        2,
        "platform/core/keys/output_key.py",
        "-{n:010d}-",
        "-",
        ("tests/unit/platform/core/config/test_output.py::test_no_two_objects_have_one_key",),
    ),
    Mutant(
        "the staged objects of an output stay, so that a late copy restores what a reader has removed",
        3,
        "assets/bronze/record.py",
        "    clear_staged(table, batch)\n",
        "",
        (f"{_OUTPUT}test_a_run_that_copies_late_brings_nothing_back",),
    ),
    Mutant(
        "what is staged for the next batch of an output ends with a batch",
        2,
        "assets/bronze/publish.py",
        "<= batch.n])",
        "<= batch.n + 1])",
        (
            "tests/unit/assets/bronze/test_publish.py::"
            "test_what_runs_staged_that_died_ends_with_their_batch_and_nothing_of_a_later_one",
        ),
    ),
    Mutant(
        "timestamps are written as INT96, which readers that go by Arrow take for other years",
        10,
        "resources/spark/delta.py",
        '        session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")\n',
        "",
        (
            "tests/spark/files/test_convert.py::"
            "test_an_output_has_times_that_every_reader_reads_and_keeps_its_kind_until_a_reset",
        ),
    ),
    Mutant(
        "what a dead run staged stays after a batch of the output without objects",
        2,
        "assets/bronze/publish.py",
        'if batch.location != table.lake.store.uri("outputs", batch.table):',
        "if not batch.objects:",
        (
            "tests/unit/assets/bronze/test_publish.py::"
            "test_what_runs_staged_that_died_ends_with_their_batch_and_nothing_of_a_later_one",
        ),
    ),
    Mutant(
        "a dead letter whose type needs tags that S3 refuses counts as understood",
        6,
        "assets/operations/dead_letters.py",
        "            *(tags_refused(error) for error in refusals if error),\n",
        "",
        (
            "tests/unit/assets/operations/test_dead_letters.py::"
            "test_a_message_whose_type_needs_tags_that_s3_refuses_says_so",
        ),
    ),
    Mutant(
        "a null version has no ID in the table of inventories, so that a job works on the current version",
        10,
        "resources/inventory/rows.py",
        "F.coalesce(value, F.lit(NULL_VERSION))",
        "value",
        (f"{_CENTRAL}test_each_format_is_read_and_each_subject_has_its_own_newest_rows",),
    ),
    Mutant(
        "a query without the IDs of noncurrent versions gives a manifest of the current ones",
        10,
        "platform/cli/inventory/manifest.py",
        " and bucket in of_versions()",
        " and not bucket",
        ("tests/unit/platform/cli/inventory/test_manifest.py",),
    ),
    Mutant(
        "an empty version ID is a line of a manifest, which S3 reads as the current version",
        10,
        "platform/core/storage/batch_manifest.py",
        'if version == "":',
        "if version is False:",
        ("tests/unit/platform/core/storage/test_batch_manifest.py",),
    ),
    Mutant(
        "a bucket that left lake.yaml may still write inventories, and no difference is shown",
        10,
        "platform/cloud/inventories.py",
        '            "remove": [_text(one) for one in present if one not in wanted],\n',
        "",
        ("tests/unit/platform/cloud/test_inventories.py",),
    ),
    Mutant(
        "buckets without the chosen configuration are missing in reports",
        10,
        "platform/core/inventory/counted.py",
        "    return [subject for subject in sorted(newest) if subject.bucket in several and subject not in counted]",
        "    return [one for one in sorted(newest) if configuration not in ('', one.configuration)]",
        ("tests/unit/platform/core/inventory/test_counted.py",),
    ),
    Mutant(
        "a bucket that has never delivered an inventory is late nowhere",
        10,
        "platform/core/inventory/late.py",
        " for one in named if one not in found]",
        " for one in named if one in found]",
        ("tests/unit/platform/core/inventory/test_late.py",),
    ),
    Mutant(
        "buckets of other regions than the destination get configurations that S3 refuses",
        10,
        "platform/cli/inventory/enable.py",
        " and bucket not in elsewhere]",
        "]",
        ("tests/unit/platform/cli/inventory/test_enable.py",),
    ),
    Mutant(
        "a manifest of S3 Batch Operations has keys that S3 decodes to others",
        10,
        "platform/core/storage/batch_manifest.py",
        'line = f"{bucket},{quote(key)}"',
        "line = f\"{bucket},{quote(key, safe='/+')}\"",
        ("tests/unit/platform/core/storage/test_batch_manifest.py",),
    ),
    Mutant(
        "`tidegate sql` prints the decimals of a VARIANT with 28 digits",
        10,
        "platform/cli/sql/sql.py",
        "*(to_json(name) if isinstance(field.dataType, VariantType) else col(name) for name, field in columns)",
        "*(col(name) for name, field in columns)",
        ("tests/spark/files/test_variant.py::test_drifting_events_are_one_table_whose_values_are_those_of_the_source",),
    ),
    Mutant(
        "a template of `dg` in a lake reaches the runs as it is written",
        10,
        "platform/core/config/load.py",
        'if "{{" in value',
        'if "{{{" in value',
        ("tests/unit/platform/core/config/test_load.py",),
    ),
    Mutant(
        "of two columns with one name, `tidegate sql --json` prints the last one only",
        10,
        "platform/cli/sql/sql.py",
        "if names.count(name) > 1]",
        "if names.count(name) > 2]",
        ("tests/unit/platform/cli/sql/test_sql.py",),
    ),
    Mutant(
        "`tidegate sql --json` takes the local time of its process for UTC",
        10,
        "platform/cli/json_values.py",
        "value.astimezone(UTC).isoformat()",
        "value.replace(tzinfo=UTC).isoformat()",
        ("tests/unit/platform/cli/test_json_values.py",),
    ),
    Mutant(
        "an undeliverable message of a route is deleted in quarantine before the outbox has it",
        1,
        "resources/lake_root/outbox.py",
        "        self.put(by_lane.items())\n",
        "        objects.delete(bucket, [kept.key for kept in messages])\n"
        '        seam("redrive-sent")\n'
        "        self.put(by_lane.items())\n",
        (f"{_FORWARD}test_a_redrive_that_dies_or_meets_the_same_refusal_loses_nothing",),
    ),
    Mutant(
        "files enter without their completion signal",
        2,
        "platform/core/completion/held_back.py",
        "        if candidate.key in covered or candidate.replaces is not None:\n",
        "        if candidate.key in covered or candidate.taken.hint.event_id:\n",
        (f"{_DATASETS}test_a_manifest_s_dataset_enters_whole_in_whatever_order_its_events_come",),
    ),
    Mutant(
        "an older inventory replaces a newer one",
        2,
        "platform/core/inventory/delivery.py",
        "    return known if known is not None and known > delivery.began else None\n",
        "    return known if known is not None and known == delivery.began else None\n",
        (
            "tests/unit/platform/core/inventory/test_delivery.py::"
            "test_only_a_newer_inventory_of_the_same_subject_keeps_a_delivery_out",
        ),
    ),
    Mutant(
        "the configurations of a bucket mix",
        2,
        "platform/core/inventory/delivery.py",
        'Subject(found["bucket"], found["configuration"])',
        'Subject(found["bucket"], "all")',
        ("tests/unit/platform/core/inventory/test_delivery.py::test_two_configurations_of_a_bucket_are_two_subjects",),
    ),
    Mutant(
        "an inventory with a wrong MD5 is loaded",
        2,
        "resources/inventory/deliveries.py",
        "    if found.size != file.size or (",
        "    if found.size != file.size and (",
        (f"{_UNUSABLE}test_an_inventory_that_cannot_be_used_says_which_object_and_what_to_do",),
    ),
    Mutant(
        "an inventory with a missing file is loaded in part",
        2,
        "resources/inventory/deliveries.py",
        "    if isinstance(found, S3Gone):\n        raise",
        "    if isinstance(found, S3Gone):\n        return file.key, file.md5\n        raise",
        (f"{_UNUSABLE}test_an_inventory_that_cannot_be_used_says_which_object_and_what_to_do",),
    ),
    Mutant(
        "an inventory of which a file was written again while it was read is loaded",
        2,
        "assets/bronze/prepare/inventories/stage.py",
        "    changed = _changed(table, entries)\n",
        "    changed = _changed(table, [])\n",
        (f"{_CENTRAL}test_a_file_that_changes_while_it_is_read_keeps_its_inventory_out",),
    ),
    Mutant(
        "rows of inventories that are read at once get the bucket of another one",
        2,
        "assets/bronze/prepare/inventories/stage.py",
        "(address, *_values(table, entry).values())",
        "(address, *_values(table, entries[0]).values())",
        (f"{_CENTRAL}test_each_format_is_read_and_each_subject_has_its_own_newest_rows",),
    ),
    Mutant(
        "the rows of an inventory stay when the next one enters",
        2,
        "assets/bronze/prepare/inventories/prepare.py",
        "        if base and self.entered:\n",
        "        if base and not self.entered:\n",
        (f"{_CENTRAL}test_a_file_that_changes_while_it_is_read_keeps_its_inventory_out",),
    ),
    Mutant(
        "a dataset enters without its bad part",
        2,
        "assets/bronze/completion/whole.py",
        "        if not all(row and row.status is Status.COMMITTED for row in rows):\n",
        "        if not any(row and row.status is Status.COMMITTED for row in rows):\n",
        (f"{_DATASETS}test_a_dataset_of_which_a_part_is_bad_stays_out_and_enters_whole_after_a_redrive",),
    ),
    Mutant(
        "an old signal covers a file that came after it",
        2,
        "platform/core/completion/verdict.py",
        "    covered = [file for file in files if signal.again or file.at <= signal.at]\n",
        "    covered = list(files)\n",
        (f"{_DATASETS}test_a_folder_s_files_enter_with_a_signal_that_is_not_older",),
    ),
    Mutant(
        "a dataset is cut where a batch has enough bytes",
        2,
        "assets/bronze/prepare/load/candidates.py",
        " and candidate.key not in together:\n",
        ":\n",
        ("tests/unit/assets/bronze/prepare/load/test_candidates.py::test_a_dataset_is_not_cut",),
    ),
    Mutant(
        "a field within a personal struct has statistics",
        10,
        "platform/core/schema/column_statistics.py",
        "for length in range(1, len(lower) + 1)",
        "for length in range(len(lower), len(lower) + 1)",
        (f"{_STATISTICS}test_a_personal_struct_has_no_statistics_of_any_field",),
    ),
    Mutant(
        "bounds of a registered file's personal columns are written",
        10,
        "platform/core/files/parquet/footer.py",
        " if not is_personal(name, personal)}",
        "}",
        ("tests/unit/platform/core/files/parquet/test_footer.py::test_a_footer_s_personal_columns_have_no_statistics",),
    ),
    Mutant(
        "a load does not apply the suppression list",
        12,
        _LOAD,
        "        self.suppression = table.lake.suppression(table.spec) if table.spec.personal else None\n",
        "        self.suppression = None\n",
        (f"{_FORGOTTEN}test_no_way_into_a_table_brings_a_forgotten_subject",),
    ),
    Mutant(
        "a merge lets a restored row of a forgotten subject in",
        12,
        "assets/silver/suppressed.py",
        "    if work.table.spec.personal is None or (suppression := lake.suppression(work.table.spec)) is None:\n",
        "    suppression = lake.suppression(work.table.spec)\n    if True:\n",
        (f"{_FORGOTTEN}test_no_way_into_a_table_brings_a_forgotten_subject",),
    ),
    Mutant(
        "a column of silver is a person's by its name alone",
        12,
        "platform/core/silver/subject_paths.py",
        "                yield (name, *below)\n",
        "                yield path[-1:]\n",
        (
            "tests/unit/platform/core/silver/test_subject_paths.py"
            "::test_a_field_of_a_column_is_no_column_of_its_last_name",
        ),
    ),
    Mutant(
        "a search for late messages of forgotten persons leaves out what came while the last one ran",
        12,
        "assets/forgetting/late_messages.py",
        '(datetime.fromisoformat(noted["at"]) - _OVERLAP).timestamp()',
        'datetime.fromisoformat(noted["at"]).timestamp()',
        (
            "tests/unit/assets/forgetting/test_late_messages.py::"
            "test_messages_that_came_since_the_last_search_are_taken_out",
        ),
    ),
    Mutant(
        "a run that prepared before a request to forget is not overtaken",
        12,
        "assets/forgetting/bronze_rows.py",
        "        if settled and not erasing.rows:\n",
        "        if not erasing.rows:\n",
        (f"{_FORGET}test_a_run_that_prepared_before_the_request_does_not_bring_the_person_back",),
    ),
    Mutant(
        "a request is noted as erased before its rows have left",
        8,
        "assets/forgetting/forget.py",
        "        taken = _erase(lake, kind, run_id, log)\n",
        "        for one in waiting:\n"
        '            _note(lake, one.request.id, ERASED, {"run": run_id})\n'
        "        taken = _erase(lake, kind, run_id, log)\n",
        (f"{_FORGET}test_a_call_that_dies_is_repeated_and_says_nothing_half",),
    ),
    Mutant(
        "what a call that died took out is not in the record of a forgotten person",
        6,
        "platform/core/forgetting/gone.py",
        "counts, now, max)",
        "{}, now, max)",
        ("tests/unit/platform/core/forgetting/test_gone.py::test_what_a_call_that_died_took_out_is_counted",),
    ),
    Mutant(
        "a column of a feed has no type before its first value",
        5,
        "platform/core/silver/rules.py",
        "    raw += awaited\n",
        "",
        (
            "tests/unit/platform/core/silver/test_presets.py::"
            "test_a_column_without_a_value_has_its_type_from_the_first_merge_on",
        ),
    ),
    Mutant(
        "the order of a feed changes with the first change after its snapshot",
        5,
        "platform/core/silver/log_positions.py",
        "is_optional(part) and path_of(part, columns) is None",
        "is_optional(part)",
        (
            "tests/unit/platform/core/silver/test_presets.py::"
            "test_a_snapshot_without_a_position_has_the_order_that_the_first_change_has",
        ),
    ),
    Mutant(
        "maintenance takes the files of a registered table",
        8,
        "assets/maintenance/tables.py",
        '    own = lake.store.uri("bronze", table_key)\n',
        "    own = table.birth.location\n",
        (f"{_MAINTAINED}test_tables.py::test_of_a_registered_table_only_the_log_is_maintained",),
    ),
    Mutant(
        "a table that is not below the lake root is vacuumed",
        8,
        "assets/maintenance/vacuum.py",
        '    if bucket != lake.store.bucket or not f"{key}/".startswith(lake.store.key("")):\n',
        "    if bucket != lake.store.bucket:\n",
        (f"{_MAINTAINED}test_vacuum.py::test_no_file_of_a_producer_is_deleted",),
    ),
    Mutant(
        "a file that is younger than the retention is deleted",
        8,
        "assets/maintenance/vacuum.py",
        "    old = (item for item in present if item.modified <= latest)\n",
        "    old = (item for item in present)\n",
        (f"{_MAINTAINED}test_vacuum.py::test_a_file_that_is_younger_than_the_retention_stays_and_so_does_the_log",),
    ),
    Mutant(
        "a file that was written again after the inventory is deleted",
        8,
        "assets/maintenance/vacuum.py",
        "                yield Listed(key, found.etag, found.size, found.modification_time / 1000)\n",
        "                yield Listed(key, found.etag, found.size, 0.0)\n",
        (f"{_MAINTAINED}test_vacuum.py::test_what_an_inventory_has_is_deleted_only_if_it_is_old_now",),
    ),
    Mutant(
        "a file of another table or of a producer is deleted because an inventory has it",
        8,
        "assets/maintenance/vacuum.py",
        "    return path.bucket == bucket and path.key.startswith(folder) and not path.key.startswith(",
        "    return not path.key.startswith(",
        (f"{_MAINTAINED}test_vacuum.py::test_nothing_outside_the_table_s_folder_is_deleted_whatever_an_inventory_has",),
    ),
    Mutant(
        "an inventory of a part of a table's folder replaces its listing",
        8,
        "platform/core/inventory/folder_inventory.py",
        "        return self.log_files > 0 and self.files > 0\n",
        "        return self.files > 0\n",
        (
            "tests/unit/platform/core/inventory/test_folder_inventory.py::"
            "test_the_newest_inventory_of_the_whole_folder_is_used",
        ),
    ),
    Mutant(
        "why says of a row that an expectation dropped that it is no change",
        10,
        "platform/core/silver/fates/key_row.py",
        "        if self.violated:\n",
        "        if self.violated and not self.skipped:\n",
        ("tests/unit/platform/core/silver/fates/test_row_fates.py::test_rows_that_are_no_changes_never_win",),
    ),
    Mutant(
        "a dry run of maintenance deletes",
        8,
        "assets/maintenance/deletion.py",
        "        if not dry_run:\n",
        "        if True:\n",
        (f"{_MAINTAINED}test_vacuum.py::test_only_what_vacuum_finds_is_deleted_and_a_dry_run_deletes_nothing",),
    ),
    Mutant(
        "a dry run of maintenance merges files",
        8,
        "assets/maintenance/tables.py",
        "        return found.files if self.dry_run else compact(",
        "        return compact(",
        (f"{_MAINTAINED}test_tables.py::test_a_dry_run_shows_the_steps_and_does_none",),
    ),
    Mutant(
        "maintenance works next to a run of its table",
        3,
        "assets/maintenance/asset.py",
        "    if writer := other_run(context.instance, context.run_id, is_writer):\n",
        "    if writer := None:\n",
        (f"{_MAINTAINED}test_asset.py::test_nothing_is_done_next_to_a_run_of_the_table",),
    ),
    Mutant(
        "silver is maintained next to its rebuild",
        3,
        "assets/maintenance/asset.py",
        '            return is_rebuild(run, f"silver.{spec.name}") or is_forgetting(run)\n',
        "            return is_forgetting(run)\n",
        (f"{_MAINTAINED}test_asset.py::test_nothing_is_done_next_to_a_writer_of_the_silver_table",),
    ),
    Mutant(
        "a table with a batch that is not recorded is maintained",
        2,
        "assets/maintenance/tables.py",
        "    if table.batches.is_decided(n + 1):\n",
        "    if table.batches.is_decided(n + 2):\n",
        (f"{_MAINTAINED}test_tables.py::test_a_table_with_a_batch_that_is_not_recorded_is_left_alone",),
    ),
    Mutant(
        "an inventory is read at a version that has the next one of its bucket",
        10,
        "platform/core/storage/history.py",
        "            part.reads[-1] = VersionRead(end - 1, part.reads[-1].first, n)\n",
        "            part.reads[-1] = VersionRead(end, part.reads[-1].first, n)\n",
        (
            "tests/unit/platform/core/storage/test_history.py::"
            "test_each_inventory_is_read_once_at_a_version_that_has_it",
        ),
    ),
    Mutant(
        "a version of a table of inventories is read that the log does not have any more",
        10,
        "platform/core/storage/history.py",
        " or before[later.n] < kept.log",
        "",
        (
            "tests/unit/platform/core/storage/test_history.py::"
            "test_a_version_that_is_older_than_the_log_is_not_read_though_its_files_are_kept",
        ),
    ),
    Mutant(
        "a bucket that was dropped is late for ever",
        3,
        "platform/core/inventory/late.py",
        "        if newest.is_drop:\n",
        "        if False:\n",
        (
            "tests/unit/platform/core/inventory/test_late.py::"
            "test_a_bucket_that_was_dropped_is_not_late_until_it_delivers_again",
        ),
    ),
    Mutant(
        "an inventory of the minute in which its bucket was dropped brings the bucket back",
        10,
        "platform/core/inventory/dropped.py",
        "{BEGAN_TIME}}{DROPPED}/",
        "{BEGAN_TIME}}/",
        (
            "tests/unit/platform/core/inventory/test_dropped.py::"
            "test_it_counts_more_than_an_inventory_of_its_minute_and_less_than_a_later_one",
        ),
    ),
    Mutant(
        "an empty inventory counts as lost though its day is known to be zero",
        10,
        "platform/core/storage/history.py",
        "        if one.rows and (later",
        "        if (later",
        (
            "tests/unit/platform/core/storage/test_history.py::"
            "test_an_empty_inventory_is_known_however_long_ago_it_was_replaced",
        ),
    ),
    Mutant(
        "the inventories of a day are read at a version that lacks those which came later",
        10,
        "platform/core/storage/as_of.py",
        "reads[-1].version < one.version:",
        "reads[-1].version < 0:",
        (
            "tests/unit/platform/core/storage/test_as_of.py::test_each_inventory_of_a_day_is_read_once_at_a_version_that_has_it",
        ),
    ),
    Mutant(
        "what follows a lost part of the history of inventories counts, and the part is never computed again",
        10,
        "assets/storage/kept_history.py",
        "if (part := found[key]) and key == self._key(chain[-1].last if chain else 0):",
        "if part := found[key]:",
        ("tests/unit/assets/storage/test_kept_history.py::test_after_a_lost_part_the_rest_is_computed_again",),
    ),
    Mutant(
        "advice moves objects from ONEZONE_IA to GLACIER_IR, which S3 refuses",
        10,
        "platform/core/storage/transitions.py",
        '    "ONEZONE_IA": frozenset({"GLACIER", "DEEP_ARCHIVE"}),\n',
        '    "ONEZONE_IA": frozenset({"GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"}),\n',
        ("tests/unit/platform/core/storage/test_transitions.py::test_the_whole_table_is_that_of_the_documentation",),
    ),
    Mutant(
        "the command that removes incomplete uploads deletes the other lifecycle rules of the bucket",
        10,
        "platform/core/storage/uploads.py",
        '        body = json.dumps({"Rules": [*kept, rule]}, default=_iso)\n',
        '        body = json.dumps({"Rules": [rule, *kept[:0]]}, default=_iso)\n',
        (
            "tests/unit/platform/core/storage/test_uploads.py::"
            "test_the_command_adds_a_rule_and_keeps_everything_else_as_s3_takes_it",
        ),
    ),
    Mutant(
        "the error of a short forecast is shown for a much longer one without a remark",
        10,
        "platform/core/storage/forecast.py",
        "        if len(self.values) > _REACH * self.tested_days:\n",
        "        if not self.tested_days and self.values:\n",
        (
            "tests/unit/platform/core/storage/test_forecast.py::"
            "test_the_error_is_of_so_many_days_and_a_longer_forecast_says_that_it_may_be_larger",
        ),
    ),
    Mutant(
        "advice is silent on classes of which the price of a transition is missing",
        10,
        "platform/core/storage/advice.py",
        "        found.update(to for to in possible if to not in prices.transitions)\n",
        "",
        (
            "tests/unit/platform/core/storage/test_advice.py::"
            "test_a_missing_price_is_named_exactly_where_it_could_keep_an_advice_from_being_given",
        ),
    ),
    Mutant(
        "a page does not say that it has not all lines",
        10,
        "assets/presentation/shown_lines.py",
        "if more > 0 else {}",
        "if more > len(lines) else {}",
        (
            "tests/unit/assets/storage/test_asset.py::"
            "test_each_page_says_how_many_lines_it_leaves_out_and_which_command_prints_them",
        ),
    ),
    Mutant(
        "a lifecycle rule of ten years counts as one that removes incomplete uploads",
        10,
        "platform/core/storage/uploads.py",
        "after is not None and after <= days",
        "after is not None",
        (
            "tests/unit/platform/core/storage/test_uploads.py::"
            "test_only_an_enabled_rule_of_the_whole_bucket_removes_all_incomplete_uploads_within_the_days",
        ),
    ),
    Mutant(
        "advice forgets that small objects are billed as larger ones",
        10,
        "platform/core/storage/advice.py",
        "            return self.objects * MIN_BILLED, 0\n",
        "            return self.bytes, 0\n",
        (
            "tests/unit/platform/core/storage/test_advice.py::"
            "test_small_objects_are_billed_as_larger_ones_even_if_transitions_are_free",
        ),
    ),
    Mutant(
        "an audit counts as fine what an inventory does not list",
        10,
        "platform/core/storage/audits.py",
        "if objects or kind not in unknown}",
        "if objects or unknown is not None}",
        (
            "tests/unit/platform/core/storage/test_audits.py::"
            "test_nothing_was_found_only_if_every_inventory_lists_what_the_audit_needs",
        ),
    ),
    Mutant(
        "an object is no orphan if the ledger of any table knows its key",
        6,
        "platform/core/storage/audits.py",
        "ON known.folder = prefixes.folder AND known.key = below.key",
        "ON known.key = below.key",
        (
            "tests/unit/platform/core/storage/test_audits.py::"
            "test_an_object_is_an_orphan_unless_the_ledger_of_its_own_table_knows_it",
        ),
    ),
    Mutant(
        "storage of tables has the price of objects",
        10,
        "platform/core/storage/price_list.py",
        '    matched = _REGION.fullmatch(row["usageType"])\n',
        '    matched = re.search(r"(?P<type>(TimedStorage|Requests|Retrieval|Monitoring)-.+)", row["usageType"])\n',
        (
            "tests/unit/platform/core/storage/test_price_list.py::"
            "test_the_list_gives_the_tiers_of_each_class_and_nothing_that_only_has_a_similar_name",
        ),
    ),
    Mutant(
        "the quarantine is deleted although nobody asked for it",
        6,
        "platform/core/maintenance/retention.py",
        "    return kept if spec.quarantine is None else {**kept, **dict.fromkeys(QUARANTINE, spec.quarantine)}\n",
        "    return {**kept, **dict.fromkeys(QUARANTINE, spec.quarantine or spec.intake)}\n",
        (
            "tests/unit/platform/core/maintenance/test_retention.py::"
            "test_the_quarantine_is_kept_for_ever_unless_lake_yaml_gives_it_days",
        ),
    ),
    Mutant(
        "the table of an earlier prefix keeps the SQL name of its table",
        10,
        "resources/lake.py",
        "        if born is None or born.name != table.birth.name:\n            return None\n",
        "        return None\n",
        (
            "tests/unit/resources/test_sql_names.py::"
            "test_a_name_is_that_of_the_table_to_which_lake_yaml_gives_it_once_it_is_born",
        ),
    ),
    Mutant(
        "an entry of the catalog that somebody else made is overwritten",
        8,
        "assets/catalog/sync.py",
        "    if not entry.is_ours(found, keeps):\n",
        "    if not found:\n",
        (f"{_CATALOG}test_somebody_else_s_entry_of_our_name_is_never_touched",),
    ),
    Mutant(
        "an entry of the catalog that another lake made is deleted",
        8,
        "assets/catalog/sync.py",
        "            if owner_of(table) == lake_id and name not in names",
        "            if owner_of(table) and name not in names",
        (f"{_CATALOG}test_the_entry_of_a_table_that_is_gone_goes_and_those_of_others_stay",),
    ),
    Mutant(
        "the entries of a table that cannot be read are deleted",
        8,
        "assets/catalog/sync.py",
        ' and table["Parameters"].get(TABLE) not in unread\n',
        "\n",
        (f"{_SYNCED}test_a_damaged_table_is_reported_and_the_others_are_brought_in_step",),
    ),
    Mutant(
        "a table takes the entry that another table of the lake should have",
        8,
        "platform/core/catalog/entry.py",
        " and (holder in (None, ours[TABLE]) or not keeps(holder))\n",
        "\n",
        (f"{_SYNCED}test_a_table_keeps_its_entry_from_another_of_its_name",),
    ),
    Mutant(
        "an export looks for the manifest of a run that died only in the folder of today's lake.yaml",
        1,
        "assets/silver/export/export.py",
        "self.mark.folder or self.to.folder)):",
        "self.to.folder)):",
        ("tests/unit/assets/silver/export/test_export.py",),
    ),
    Mutant(
        "an export writes to a new folder that its mark does not name",
        1,
        "assets/silver/export/export.py",
        "if self.mark.folder != self.to.folder:",
        "if False:",
        ("tests/unit/assets/silver/export/test_export.py",),
    ),
    Mutant(
        "an export that fails gets a run with every tick",
        3,
        "sensors/silver.py",
        "    if left > 0:\n",
        "    if left > 9999:\n",
        ("tests/unit/sensors/test_silver.py::test_a_table_whose_export_alone_is_behind_gets_a_run_now_and_then",),
    ),
    Mutant(
        "the manifest of an export is replaced by that of a later attempt",
        5,
        "assets/silver/export/export.py",
        "        if not objects.put_if_absent(bucket, key, body) and objects.get(bucket, key) != body.encode():\n",
        "        if objects.put(bucket, key, body):\n",
        (_EXPORT,),
    ),
    Mutant(
        "the changes of a version that was not marked are exported again",
        5,
        "assets/silver/export/export.py",
        "mark = replace(mark, done=version,",
        "mark = replace(mark, done=version - 1,",
        (_EXPORT,),
    ),
    Mutant(
        "a remedy makes rows less fresh than they may be",
        6,
        "platform/core/costs/table_cost.py",
        " if timing.delay <= limit]\n",
        "]\n",
        (f"{_COSTS}test_the_remedy_is_the_longest_window_that_is_fresh_enough",),
    ),
    Mutant(
        "merges that a remedy makes more count as merges that it saves",
        6,
        "platform/core/costs/table_cost.py",
        '        cores += (cost.merges - merges) * figures["merge_cpu"]\n',
        '        cores += abs(cost.merges - merges) * figures["merge_cpu"]\n',
        (f"{_COSTS}test_the_cost_with_the_remedy_is_what_such_a_month_costs",),
    ),
    Mutant(
        "runs that were late are saved twice",
        6,
        "platform/core/costs/table_cost.py",
        "more_batches = max(0, cost.batches - len(batches[now.window]))",
        "more_batches = cost.batches - len(batches[now.window])",
        (f"{_COSTS}test_runs_that_were_late_save_no_batches_twice",),
    ),
    Mutant(
        "a run that tables share is paid for in full by each of them",
        6,
        "resources/costs/shared_runs.py",
        "(1.0 / self._tables[np.searchsorted(self._runs, own)]).sum()",
        "own.size",
        (
            "tests/unit/resources/costs/test_recorded_months.py::"
            "test_a_run_of_several_tables_is_paid_for_by_all_of_them",
        ),
    ),
    Mutant(
        "a ledger that cannot be read takes its whole query with it",
        6,
        "resources/costs/recorded_ledger.py",
        "        if len(keys) == 1:\n            return Part([], pa.table({}), {keys[0]: error})\n",
        "        return Part([], pa.table({}), dict.fromkeys(keys, error))\n",
        (
            "tests/unit/resources/costs/test_recorded_months.py::"
            "test_a_ledger_that_cannot_be_read_takes_no_other_with_it",
        ),
    ),
    Mutant(
        "the size of a folder is that of any inventory",
        6,
        "assets/costs/inventory_sizes.py",
        "found[uri] = inventories[newest_usable(inventories, uri, now.timestamp())]",
        "found[uri] = max(inventories.values())",
        (
            "tests/unit/assets/costs/test_inventory_sizes.py::test_only_a_new_inventory_of_the_whole_folder_with_sizes_counts",
        ),
    ),
    Mutant(
        "a ledger below a root with a space knows no object",
        6,
        "platform/core/storage/audits.py",
        'return self.ledger.rstrip("/").rpartition("/")[2]',
        "return self.ledger",
        (
            "tests/unit/platform/core/storage/test_audits.py::"
            "test_a_ledger_is_known_by_its_folder_because_spark_escapes_the_root",
        ),
    ),
    Mutant(
        "a listing costs as much as a GET",
        6,
        "platform/core/costs/usage.py",
        'self.s3_writes * figures["s3_write"]',
        'self.s3_writes * figures["s3_read"]',
        ("tests/unit/platform/core/costs/test_usage.py::test_requests_are_billed_by_their_class",),
    ),
    Mutant(
        "a tombstone is exported as a row",
        5,
        "platform/core/silver/change_rows.py",
        '{version}, {version}) WHERE {shown(own)}"',
        '{version}, {version}) WHERE true"',
        ("tests/unit/platform/core/silver/test_change_rows.py::test_a_tombstone_is_no_row",),
    ),
    Mutant(
        "rows of Db2 are ordered by their commit alone",
        5,
        "platform/core/silver/log_positions.py",
        '("{}commit_lsn", "{}change_lsn", "{}event_serial_no")',
        '("{}commit_lsn",)',
        (
            "tests/unit/platform/core/silver/test_presets.py::"
            "test_records_of_the_shape_that_is_documented_are_proposed_and_ordered",
        ),
    ),
    Mutant(
        "a decimal of Avro is decoded as if it was bytes",
        5,
        "platform/core/schema/value_encoding.py",
        "(isinstance(given, Decimal) and isinstance(encoding.type, Decimal))",
        "given == Simple('binary')",
        ("tests/unit/platform/core/silver/test_presets.py::test_an_encoding_is_a_name_or_a_decimal",),
    ),
)
