/** The procedures for every table: its state, its live files, views of it, and its SQL name. */
package io.tidegate.procedures.tables;
