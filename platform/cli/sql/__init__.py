"""`tidegate sql`: a query is read for the tables, versions and days that it asks for, and then run."""
