"""Completion signals: objects that say that a dataset is complete."""
