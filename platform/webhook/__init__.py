"""The server that takes webhooks into row queues."""
