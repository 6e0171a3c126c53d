"""The local platform: everything Tidegate needs from outside, as processes on one machine."""
