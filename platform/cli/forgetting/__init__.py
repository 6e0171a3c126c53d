"""`tidegate forget`: what it does, and what it prints."""
