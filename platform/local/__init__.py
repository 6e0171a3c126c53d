"""The local platform: the services that Tidegate needs, as processes on one machine."""
