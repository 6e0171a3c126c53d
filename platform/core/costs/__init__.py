"""What the work on tables costs: units of cost with their sources, what is billed, and the cost of a table."""
