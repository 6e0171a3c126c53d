"""Event types and routes in `lake.yaml`."""
