"""Silver: each configured table is merged from its bronze table.

The modules, in the order of a merge:

- `merge`: merges what is pending, in bounded steps with a mark each; or rebuilds a table in one commit.
- `pending_merge`: which batches of bronze silver does not have. `changes`: their rows. `suppressed_rows`: without
  those of forgotten subjects.
- `table`: creates the silver table and widens it. Its log has no statistics of personal columns.
- `row_queries` and `expect`: what kinds of rows there are, and which of them violate an expectation.
- `truncate`: rows that are older than a truncate. `dumps`: the deletes that full dumps imply.
- `newest_rows` and `merge_sql`: the newest row of each key (`scd1`). `history_rows` and `history_merge`: all changes of
  each key (`scd2`). `unchanged_values`: values that a row leaves as they are.
  `value_origins`: which rows gave a row's values.
- `export`: the changes of a silver table, as files.
- `audit`: why a row is as it is, and whether silver is what bronze gives.
- `server_losses`: which tables rest because their merges took the server down. `error_redaction`: errors
  without values.
"""
