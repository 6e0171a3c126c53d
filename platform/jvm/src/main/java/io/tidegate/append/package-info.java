/** Appends a few rows that the driver holds to a table, without a Spark job: the commits of the ledger. */
package io.tidegate.append;
