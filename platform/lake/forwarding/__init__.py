"""Forwarding: the topics and queues that routes send to."""
