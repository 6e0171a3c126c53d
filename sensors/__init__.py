"""Sensors and schedules: what starts runs."""
