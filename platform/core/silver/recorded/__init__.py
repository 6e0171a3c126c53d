"""What a silver table records of how its rows were made."""
