package io.tidegate.load;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The ways in which this server reads source files. A request names one for each group of files. */
enum ReaderKind {
  /** JSON, an object in each line. */
  JSON(null),
  /** JSON, an object in each line, which is one VARIANT. */
  VARIANT(null),
  /** CSV whose rows are lines. */
  CSV_LINES(null),
  /** CSV that is read as a whole, because line ends may be in its cells. */
  CSV_CELLS(null),
  PARQUET(null),
  ORC(new OrcFiles()),
  AVRO(new AvroFiles());

  private final DeclaredFormat declared;

  ReaderKind(DeclaredFormat declared) {
    this.declared = declared;
  }

  /**
   * Returns how files that declare their columns are read.
   *
   * @throws TidegateException BATCH, when the files of this kind do not, or another reader reads them
   */
  DeclaredFormat declared() {
    if (declared == null) {
      throw new TidegateException(Kind.BATCH, "the reader " + text() + " has no declared columns. Ask for others.");
    }
    return declared;
  }

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
