package io.tidegate.procedures;

import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkThrowable;

/** Throws the cause of a failure that a person can act on, where Spark reports only that a task failed. */
public final class Cause {
  private static final String HIDING = "TASK_WRITE_FAILED";

  private Cause() {}

  /** Does {@code work}. Throws what {@code chosen} returns of a failure. */
  public static <T> T thrown(Supplier<T> work, UnaryOperator<Throwable> chosen) {
    try {
      return work.get();
    } catch (Exception e) {
      throw Cause.<RuntimeException>asUnchecked(chosen.apply(e));
    }
  }

  /** Does {@code work}, which writes rows. Throws the error of a row itself, not that a task could not write it. */
  public static <T> T ofWrite(Supplier<T> work) {
    return thrown(work, Cause::behindWrite);
  }

  /** Returns the condition of an error; null if it has none. */
  public static String condition(Throwable error) {
    return error instanceof SparkThrowable known ? known.getCondition() : null;
  }

  /** Returns the first error with a condition behind that of a failed write, or else the error. */
  static Throwable behindWrite(Throwable error) {
    boolean isHidden = false;
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      String condition = condition(cause);
      if (condition == null) {
        continue;
      }
      if (isHidden && !condition.startsWith(HIDING)) {
        return cause;
      }
      isHidden |= condition.startsWith(HIDING);
    }
    return error;
  }

  /** Throws a checked exception without declaring it, as Spark does. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E asUnchecked(Throwable error) throws E {
    throw (E) error;
  }
}
