package io.tidegate.commit;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Metadata$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** The metadata of a table that does not exist yet. */
public final class Birth {
  private Birth() {}

  /** Metadata of the table that {@code batch} creates, owned by the batch's lake and generation. */
  static Metadata of(BatchFile batch) {
    StructType schema = schema(batch.create().schema().toString());
    return metadata(schema, batch.create().partitionColumns(), properties(batch), batch.create().name());
  }

  /** The same table without columns, which a later batch gives it, and without what only those columns needed. */
  static Metadata withoutColumns(BatchFile batch) {
    Map<String, String> properties = properties(batch);
    properties.remove(DeltaConfigs.COLUMN_MAPPING_MODE().key());
    return metadata(new StructType(), List.of(), properties, batch.create().name());
  }

  private static Map<String, String> properties(BatchFile batch) {
    Map<String, String> properties = new HashMap<>(batch.create().properties());
    properties.put(TableRules.LAKE, batch.lake());
    properties.put(TableRules.GENERATION, batch.generation());
    return properties;
  }

  /**
   * Metadata from its parts.
   *
   * @param properties Delta table properties; those that start with {@code delta.} are validated by Delta
   */
  public static Metadata metadata(
      StructType schema, List<String> partitionColumns, Map<String, String> properties, String name) {
    for (String column : partitionColumns) {
      if (!List.of(schema.fieldNames()).contains(column)) {
        throw new TidegateException(
            Kind.BATCH, "partition column " + column + " is not in the schema; write it as the schema does.");
      }
    }
    Metadata$ defaults = Metadata$.MODULE$;
    return new Metadata(
        defaults.$lessinit$greater$default$1(),
        name,
        null,
        defaults.$lessinit$greater$default$4(),
        schema.json(),
        CollectionConverters.asScala(partitionColumns).toSeq(),
        DeltaConfigs.validateConfigurations(Map$.MODULE$.from(CollectionConverters.asScala(properties))),
        Option.apply((Object) System.currentTimeMillis()));
  }

  /** Parses Spark's StructType JSON. */
  public static StructType schema(String json) {
    try {
      if (DataType.fromJson(json) instanceof StructType struct) {
        return struct;
      }
    } catch (RuntimeException e) {
      throw new TidegateException(Kind.BATCH, "the schema is not Spark's StructType JSON: " + e.getMessage(), e);
    }
    throw new TidegateException(Kind.BATCH, "the schema is a type, but no StructType; give one with fields.");
  }
}
