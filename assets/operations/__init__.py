"""Jobs for the operations that a person requests. `follow`: what happens in a lake, for `tidegate tail`."""
