/** Commits a batch object in one Delta transaction, exactly once; and renews a table for another generation. */
package io.tidegate.commit;
