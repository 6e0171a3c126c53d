"""Jobs for the operations that a person requests, and what their runs say of each table."""
