package io.tidegate.load.request;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The ways in which this server reads source files. A request names one for each group of files. */
public enum ReaderKind {
  /** JSON, an object in each row. */
  JSON,
  /** JSON, an object in each row, which is one VARIANT. */
  VARIANT,
  /** JSON, an object in each row, whose text goes to an output as it is. */
  OUTPUT,
  CSV,
  /** Lines of text, whose cells a pattern finds. */
  TEXT,
  PARQUET,
  ORC,
  AVRO;

  /**
   * Returns the kind that a request names.
   *
   * @throws TidegateException BATCH, when this server has no such reader
   */
  static ReaderKind named(String name) {
    for (ReaderKind kind : values()) {
      if (kind.text().equals(name)) {
        return kind;
      }
    }
    String known = Arrays.stream(values()).map(ReaderKind::text).collect(Collectors.joining(", "));
    throw new TidegateException(
        Kind.BATCH,
        "this server has no reader " + name + ", only " + known + ". Give it the jars of the program that calls it.");
  }

  /** The name that requests have for it. */
  String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
