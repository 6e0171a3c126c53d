"""Proposes a lake.yaml from the files of a bucket."""
