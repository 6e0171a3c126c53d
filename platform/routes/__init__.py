"""Routes: sends the messages of the outbox to the topics and queues of the routes."""
