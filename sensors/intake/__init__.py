"""The sensor of the intake: one tick takes messages in, and requests the runs of tables."""
