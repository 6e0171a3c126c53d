"""The health of a lake: the lag of each table, the messages in the queues, and what was quarantined."""
