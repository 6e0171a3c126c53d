"""What an asset of a user can take: the lake, and the settings of AWS."""
