/**
 * Commits a batch object in one Delta transaction, exactly once; and what else changes the columns or the owner of a
 * table.
 */
package io.tidegate.commit;
