/** Reads a ledger's rows from its files, without a Spark job. */
package io.tidegate.ledger;
