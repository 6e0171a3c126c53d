"""`tidegate check`: one module for each subject, one id for each check."""
