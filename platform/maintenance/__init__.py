"""Maintenance of tables: compaction, vacuum, and the removal of old objects."""
