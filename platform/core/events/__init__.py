"""Bodies of messages: S3 events, their envelopes, and the rows of row queues."""
