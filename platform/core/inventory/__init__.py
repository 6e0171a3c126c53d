"""S3 Inventory: its deliveries, their manifests, and the table of all inventories."""
