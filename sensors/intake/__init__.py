"""The intake: receives messages, routes their events to tables, keeps them, deletes them."""
