"""Sensors and schedules. They start runs."""
