package io.tidegate.procedures.bronze;

import io.tidegate.procedures.Cause;
import java.util.List;
import java.util.function.Supplier;

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
    return Cause.thrown(work, ReadFailure::cause);
  }

  private static Throwable cause(Throwable error) {
    Throwable found = error;
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      String condition = Cause.condition(cause);
      if (condition != null && CAUSES.stream().anyMatch(condition::startsWith)) {
        found = cause;
      }
    }
    return found;
  }
}
