"""What lies under the lake root, a small class for each kind of object."""
