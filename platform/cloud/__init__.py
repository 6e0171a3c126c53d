"""What a lake needs on AWS, stated once: resources, permissions, policies, notifications. Pure, like the core."""
