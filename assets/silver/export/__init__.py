"""Exports of the changes of silver tables."""
