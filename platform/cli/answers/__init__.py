"""What commands print with `--json`: a published format, of which `docs/commands.schema.json` is the schema."""
