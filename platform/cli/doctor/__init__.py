"""`tidegate doctor`: the installation, and the logs of tables."""
