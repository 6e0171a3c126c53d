"""The silver assets: one merge per configured table."""
