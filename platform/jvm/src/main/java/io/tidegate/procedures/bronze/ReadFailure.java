package io.tidegate.procedures.bronze;

import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.SparkThrowable;

/**
 * Finds the cause of a failed read or write of rows: a file that cannot be read, or a row that a constraint of the
 * table refuses. Spark reports only that a task failed.
 */
final class ReadFailure {
  private static final List<String> CAUSES =
      List.of(
          "FAILED_READ_FILE",
          "TIDEGATE_FILE",
          "DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
          "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
          "DELTA_VIOLATE_CONSTRAINT");

  private ReadFailure() {}

  /** Does {@code work}. Throws the cause that a person can act on, or else what {@code work} threw. */
  static <T> T explained(Supplier<T> work) {
    try {
      return work.get();
    } catch (Exception e) {
      Throwable found = e;
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        String condition = cause instanceof SparkThrowable error ? error.getCondition() : null;
        if (condition != null && CAUSES.stream().anyMatch(condition::startsWith)) {
          found = cause;
        }
      }
      throw ReadFailure.<RuntimeException>asUnchecked(found);
    }
  }

  /** Throws a checked exception without declaring it, as Spark does. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E asUnchecked(Throwable error) throws E {
    throw (E) error;
  }
}
