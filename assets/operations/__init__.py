"""Jobs for the operations that a person requests. `activity`: what happens in a lake, for `tidegate tail`."""
