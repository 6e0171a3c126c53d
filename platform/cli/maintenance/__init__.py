"""`tidegate maintain`: what it does."""
