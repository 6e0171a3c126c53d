"""What a person reads in the morning: how far each table is behind, what waits in the queues, what is in quarantine."""
