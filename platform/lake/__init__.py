"""Handles on a lake: its objects, its tables, and the services of AWS and Spark that it uses."""
