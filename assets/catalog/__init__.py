"""Tables in the Glue Data Catalog, in step with their columns."""
