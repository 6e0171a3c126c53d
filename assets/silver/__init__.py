"""One asset for each silver table, with its checks and its report."""
