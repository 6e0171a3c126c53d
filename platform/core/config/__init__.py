"""lake.yaml as typed, checked models."""
