"""`tidegate maintain`: compacts and vacuums chosen tables, or shows what it would do."""
