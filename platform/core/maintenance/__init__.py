"""Maintenance: what is deleted, and after how long."""
