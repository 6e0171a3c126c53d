package io.tidegate.spark;

import java.util.function.Supplier;
import org.apache.spark.SparkThrowable;

/** A file that cannot be read fails the task that writes its rows: what is told is why it could not be read. */
final class ReadFailure {
  private ReadFailure() {}

  static <T> T told(Supplier<T> work) {
    try {
      return work.get();
    } catch (Exception e) {
      Throwable found = e;
      for (Throwable one = e; one != null; one = one.getCause()) {
        String condition = one instanceof SparkThrowable told ? told.getCondition() : null;
        if (condition != null && condition.startsWith("FAILED_READ_FILE")) {
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
