"""The roles that a lake needs, a module for each, and the statements that several roles have."""
