"""Deliveries of webhooks: whether one is genuine, what identifies it, and why it is refused."""
