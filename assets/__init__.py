"""What a person sees in Dagster: assets with their checks, jobs and pages. Their work is in `platform/`."""
