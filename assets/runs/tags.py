"""Tags of runs."""

from tidegate.platform.lake.spark.provider import SparkProvider

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
#: The tag of runs that sensors request where there are several Spark servers: the server of the run's tables, as
#: sc://host:port. `dagster.yaml` limits how many runs a server has at once.
SERVER_TAG = "tidegate/server"
ALLOW_REMOVALS_TAG = "tidegate/allow-removals"


def server_tags(server: SparkProvider, table: str) -> dict[str, str]:
    """Return the tag with the Spark server of a table's run. There is none if all tables have one server."""
    name = server.server_of(table)
    return {SERVER_TAG: name} if name else {}
