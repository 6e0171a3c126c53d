"""What a lake needs on AWS, stated once: permissions, policies, notifications. Pure, like the core."""
