"""Tags of runs of bronze."""

#: The tag of runs that the intake sensor asked for; they work off the inbox and need not list the prefix.
TRIGGER_TAG = "tidegate/trigger"
#: The trigger of runs that the reconcile sensor asked for; they list the prefix, as those that a person asks for.
RECONCILE = "reconcile"
#: The tag of a run that lists: the key that it came to, behind which a repetition goes on; empty after the last one.
LISTED_TAG = "tidegate/listed-to"
ALLOW_REMOVALS_TAG = "tidegate/allow-removals"
