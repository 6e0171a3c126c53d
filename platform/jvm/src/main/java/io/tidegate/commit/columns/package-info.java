/** The columns of a table: how they are created, grow and are named in files. */
package io.tidegate.commit.columns;
