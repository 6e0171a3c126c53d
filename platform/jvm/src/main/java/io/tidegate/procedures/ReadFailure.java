package io.tidegate.procedures;

import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.SparkThrowable;

/**
 * A file that cannot be read, and a row that a constraint of the table keeps out, fail the task that writes rows: what is
 * told is why it failed.
 */
final class ReadFailure {
  private static final List<String> CAUSES =
      List.of(
          "FAILED_READ_FILE",
          "DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
          "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
          "DELTA_VIOLATE_CONSTRAINT");

  private ReadFailure() {}

  static <T> T told(Supplier<T> work) {
    try {
      return work.get();
    } catch (Exception e) {
      Throwable found = e;
      for (Throwable one = e; one != null; one = one.getCause()) {
        String condition = one instanceof SparkThrowable told ? told.getCondition() : null;
        if (condition != null && CAUSES.stream().anyMatch(condition::startsWith)) {
          found = one;
        }
      }
      throw ReadFailure.<RuntimeException>asItIs(found);
    }
  }

  /** Spark throws what Java calls checked without saying so. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E asItIs(Throwable error) throws E {
    throw (E) error;
  }
}
