package io.tidegate.delta;

import java.util.Map;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** Parts of Delta commits. */
public final class CommitActions {
  private CommitActions() {}

  /**
   * Returns the action that adds a data file.
   *
   * @param path relative to the table and URI-encoded
   * @param size in bytes
   * @param modificationTime in milliseconds since 1970
   * @param stats Delta's statistics as JSON, or null
   * @param dataChange whether the rows are new; false when the file only replaces others with the same rows
   */
  public static AddFile addFile(
      String path,
      Map<String, String> partitionValues,
      long size,
      long modificationTime,
      String stats,
      boolean dataChange) {
    return new AddFile(
        path,
        Map$.MODULE$.from(CollectionConverters.asScala(partitionValues)),
        size,
        modificationTime,
        dataChange,
        stats,
        null,
        null,
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty());
  }

  /** Returns the operation of a commit that appends; {@code userMetadata} may be null. */
  public static DeltaOperations.Operation write(String userMetadata) {
    return new DeltaOperations.Write(
        SaveMode.Append,
        Option.empty(),
        Option.empty(),
        Option.apply(userMetadata),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty());
  }
}
