"""The Spark Connect server of the local platform."""
