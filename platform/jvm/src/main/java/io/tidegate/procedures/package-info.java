/**
 * What all procedures of the catalog {@code tidegate} have in common. Each is one class in the package of its subject: it
 * reads the arguments and returns the rows.
 */
package io.tidegate.procedures;
