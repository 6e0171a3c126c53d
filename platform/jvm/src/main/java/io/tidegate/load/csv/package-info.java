/** Readers of the rows of CSV. */
package io.tidegate.load.csv;
