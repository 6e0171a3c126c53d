"""Operations that a person requests: each is a function that the command line and a Dagster job call."""
