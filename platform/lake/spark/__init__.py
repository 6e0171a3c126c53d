"""Spark Connect and Delta: the one door for commits."""
