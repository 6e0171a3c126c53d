"""The bronze asset: one partition for each table, its job, the shared run of many tables, and its pages."""
