package io.tidegate;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkThrowable;

/**
 * A refusal that a person should read: what is wrong, then what to do.
 *
 * <p>The message starts with {@code [CONDITION]}. It is an IllegalArgumentException because Spark Connect turns that
 * type into a plain exception of the client. A type that the client does not know would arrive as a generic error.
 */
public final class TidegateException extends IllegalArgumentException implements SparkThrowable {
  private static final int MAX_PROBLEM = 300;

  private final Kind kind;

  /** The kinds of refusal; the names are part of the procedures' contract with their callers. */
  public enum Kind {
    /** The table belongs to another lake or generation, or to none. */
    OWNERSHIP,
    /** The table had batches and is gone. */
    DROPPED,
    /** The table's last transaction is not the one before this batch. */
    CLOCK,
    /** Another writer restored, replaced or overwrote the table. */
    FOREIGN,
    /** The table has a property under which the work cannot be done. */
    SETTING,
    /** The batch object or a procedure's argument is malformed. */
    BATCH,
    /** Delta refuses columns that files bring, although it accepts the table. */
    COLUMNS,
    /** A source file is broken, or holds what no table can hold. */
    FILE,
    /** Other writers won every attempt; nothing is wrong, run again. */
    BUSY
  }

  public TidegateException(Kind kind, String message) {
    this(kind, message, null);
  }

  public TidegateException(Kind kind, String message, Throwable cause) {
    super("[TIDEGATE_" + kind + "] " + message, cause);
    this.kind = kind;
  }

  /** Returns the message without its condition. Of a long one, which may quote a producer's value, the beginning. */
  public String problem() {
    String problem = getMessage().substring(getMessage().indexOf("] ") + 2);
    return problem.length() <= MAX_PROBLEM ? problem : problem.substring(0, MAX_PROBLEM) + "…";
  }

  public Kind kind() {
    return kind;
  }

  @Override
  public String getCondition() {
    return "TIDEGATE_" + kind;
  }

  // Spark's defaults look the condition up in Spark's own catalogue of errors, where ours is unknown.
  @Override
  public String getSqlState() {
    return "55000";
  }

  @Override
  public String getDefaultMessageTemplate() {
    return getMessage();
  }

  @Override
  public Map<String, String> getMessageParameters() {
    return Map.of();
  }

  @Override
  public QueryContext[] getQueryContext() {
    return new QueryContext[0];
  }
}
