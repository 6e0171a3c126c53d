/**
 * The procedures that the catalog {@code tidegate} has: one class each, which reads the arguments and returns the
 * rows.
 */
package io.tidegate.procedures;
