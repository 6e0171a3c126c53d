package io.tidegate.output.parquet;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.parquet.hadoop.metadata.FileMetaData;

/** What Parquet files must share to become one file: their schema, and the metadata by which their readers go. */
final class ParquetShape {
  /**
   * Beginnings of keys. Spark reads old dates and times by the version, the calendar and the zone of their writer, and Hive
   * by those of its own. Avro, Iceberg and readers of shapes on the globe have schemas of their own.
   */
  private static final List<String> KEPT = List.of("org.apache.spark.", "writer.", "parquet.", "avro.", "iceberg.", "geo");

  private static final String WRITERS_LIBRARY = "writer.model.name";

  private ParquetShape() {}

  /** Returns a digest that is equal for files of one shape only. */
  static String of(FileMetaData file) {
    return digest(file.getSchema() + "\n" + metadata(file));
  }

  /** Returns the metadata that is part of the shape. The rest, such as the index of pandas, is true of one file only. */
  static SortedMap<String, String> metadata(FileMetaData file) {
    SortedMap<String, String> kept = new TreeMap<>(file.getKeyValueMetaData());
    kept.keySet().removeIf(key -> key.equals(WRITERS_LIBRARY) || KEPT.stream().noneMatch(key::startsWith));
    return kept;
  }

  private static String digest(String text) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
