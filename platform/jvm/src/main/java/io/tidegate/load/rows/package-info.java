/** What all readers of rows have in common, and the columns of the table that they fill. */
package io.tidegate.load.rows;
