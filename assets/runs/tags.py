"""Tags of runs of bronze."""

#: The tag of runs that the intake sensor requested. They process the inbox and need not list the prefix.
TRIGGER_TAG = "tidegate/trigger"
#: The tag of runs that sensors request for one table: its key. An instance that others use too limits this one, because
#: a limit of Dagster's own tag of partitions would limit the runs of others too.
TABLE_TAG = "tidegate/table"
#: The trigger of runs that the reconcile sensor requested. They list the prefix, as runs do that a user starts.
RECONCILE = "reconcile"
#: The trigger that a run of a backfill gives itself when it begins. It lists the prefix of each of its tables.
BACKFILL = "backfill"
#: The tag of a run that lists: the last key that it reached. A repetition resumes after it. Empty at the end.
LISTED_TAG = "tidegate/listed-to"
ALLOW_REMOVALS_TAG = "tidegate/allow-removals"
