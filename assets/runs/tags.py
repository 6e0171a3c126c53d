"""Tags of runs of bronze."""

#: The tag of runs that the intake sensor requested. They process the inbox and need not list the prefix.
TRIGGER_TAG = "tidegate/trigger"
#: The trigger of runs that the reconcile sensor requested. They list the prefix, as runs do that a user starts.
RECONCILE = "reconcile"
#: The tag of a run that lists: the last key that it reached. A repetition resumes after it. Empty at the end.
LISTED_TAG = "tidegate/listed-to"
ALLOW_REMOVALS_TAG = "tidegate/allow-removals"
