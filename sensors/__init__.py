"""Sensors and schedules, with the jobs that they start. Intake, forwarding and health do their work in a tick."""
