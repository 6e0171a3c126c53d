"""Sensors and schedules: they start runs. The intake and the forwarding do their work in a tick."""
