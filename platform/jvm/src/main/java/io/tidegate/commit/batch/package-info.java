/** A batch object, its effects on a table, and the tables that it may change. */
package io.tidegate.commit.batch;
