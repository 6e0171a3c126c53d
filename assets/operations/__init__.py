"""Operations: what a person asks for, once; each is a function that the command line and a Dagster job call."""
