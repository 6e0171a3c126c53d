package io.tidegate.load.infer;

import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;

/** Marks a column of whole numbers of which a double would change one: files of another format may have doubles. */
final class ExactNumbers {
  static final Metadata MARK = new MetadataBuilder().putBoolean("tidegate.exact", true).build();

  private ExactNumbers() {}
}
