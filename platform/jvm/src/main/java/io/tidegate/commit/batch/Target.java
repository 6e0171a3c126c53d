package io.tidegate.commit.batch;

import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.TableView;
import org.apache.spark.sql.delta.actions.Metadata;

/**
 * The table that an attempt commits on, as one effect of the batch finds it.
 *
 * @param metadata the table's, with the effects before this one; null when there is no table yet
 * @param live which of the batch's paths are live
 * @param verifyFiles whether every file of the batch is looked up in the store, not only the staged ones
 */
public record Target(TableView view, Metadata metadata, LiveEntries live, boolean verifyFiles) {
  /** Returns the same table with one more effect. */
  Target with(Effect effect) {
    return new Target(view, effect.apply(metadata), live, verifyFiles);
  }
}
