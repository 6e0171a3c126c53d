"""Bronze: takes the files of a table, and commits each of them exactly once.

The modules, in the order in which a file meets them:

- `run`: one run of a table, in five steps, by its `options`; a `listener` hears what it does.
- `look`: what waits, and what becomes of each key by its state. `completion`: which datasets are whole.
- `prepare`: what becomes of each file by its content, as a `prepared_batch`.
- `decide`: writes batch n. `commit` or, for an output, `publish`: puts it in place. `record`: writes the ledger.
- `removal_guard`: a guard against removing most files of a registered table.
- `after_load`: what becomes of a file that was taken. `small_objects`: reads many small files with few requests.
- `reconcile`: hints without events, from a listing or an S3 Inventory.
"""
