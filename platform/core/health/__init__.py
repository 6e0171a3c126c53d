"""The measurement of a lake, its metrics and its alarms."""
