"""Comparisons of silver with bronze: why a row of silver is as it is."""
