package io.tidegate.commit.batch;

import io.tidegate.TidegateException;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;

/**
 * One effect of a batch on its table. A batch lands with all of its effects, or void and with none.
 *
 * <p>Each attempt to commit asks the effects in order. Each effect sees the table with the effects before it.
 */
sealed interface Effect permits Birth, Adoption, Evolution, Adds, Removes {
  /** Returns why the batch object is malformed, or null. Asked once, when the object is read. */
  String problem();

  /** The paths, as a log writes them, of which the effect has to know whether they are live. */
  default List<String> paths() {
    return List.of();
  }

  /**
   * Refuses a table whose properties do not allow the effect.
   *
   * @throws TidegateException when a person has to change the table first
   */
  default void checkTable(Map<String, String> properties) {}

  /**
   * Returns what keeps the effect off this snapshot, a text for each problem; empty when it applies.
   *
   * @throws TidegateException when the table may not be touched
   * @throws IOException when the store does not answer
   */
  List<String> whyVoid(Target target) throws IOException;

  /** Whether the effects that follow were decided on the columns that this effect makes. */
  default boolean shapesColumns() {
    return false;
  }

  /** Returns the table's metadata with this effect; {@code now} is null when there is no table yet. */
  default Metadata apply(Metadata now) {
    return now;
  }

  /** Returns the table's metadata when the batch lands void, which is the present one unless a table has to be made. */
  default Metadata applyVoid(Metadata now) {
    return now;
  }

  /** The actions of the commit, without metadata. */
  default List<Action> actions(Target target) {
    return List.of();
  }
}
