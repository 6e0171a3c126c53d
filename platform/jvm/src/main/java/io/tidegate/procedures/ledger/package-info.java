/** The procedures that write and read ledgers. */
package io.tidegate.procedures.ledger;
