"""Datasets of tables with completion signals: they enter whole, or not at all."""
