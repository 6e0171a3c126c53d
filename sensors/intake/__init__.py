"""The intake: receives messages, routes their events to tables, stores the hints, and deletes the messages."""
