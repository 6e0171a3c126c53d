"""The values of a bronze run: hints, manifests, plans, batches and ledger rows."""
