"""The objects under the lake root, with a small class for each kind of object."""
