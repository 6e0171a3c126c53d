package io.tidegate.commit.columns;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.TypeChange;
import org.apache.spark.sql.delta.TypeWidening;
import org.apache.spark.sql.delta.TypeWideningMetadata;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Metadata$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Delta's metadata of tables: made for a new table, or with more columns. */
public final class TableMetadata {
  private static final Seq<String> NO_PATH = CollectionConverters.asScala(List.<String>of()).toSeq();

  private TableMetadata() {}

  /**
   * Returns the metadata of a new table.
   *
   * @param properties Delta table properties; those that start with {@code delta.} are validated by Delta
   * @throws TidegateException BATCH, when a partition column is not in the schema
   */
  public static Metadata of(
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

  /** Returns the metadata of {@code table} with the columns of {@code schema} as well, and with more properties. */
  public static Metadata with(Metadata table, StructType schema, Map<String, String> properties) {
    return with(table, schema, CollectionConverters.asJava(table.partitionColumns()), properties);
  }

  /** As above, with other partition columns: only for a table that has no columns yet. */
  public static Metadata with(
      Metadata table, StructType schema, List<String> partitions, Map<String, String> properties) {
    var validated = DeltaConfigs.validateConfigurations(Map$.MODULE$.from(CollectionConverters.asScala(properties)));
    Map<String, String> all = new HashMap<>(CollectionConverters.asJava(table.configuration()));
    all.putAll(CollectionConverters.asJava(validated));
    return table.copy(
        table.id(),
        table.name(),
        table.description(),
        table.format(),
        merged(table.schema(), schema).json(),
        CollectionConverters.asScala(partitions).toSeq(),
        Map$.MODULE$.from(CollectionConverters.asScala(all)),
        table.createdTime());
  }

  /**
   * Parses Spark's StructType JSON.
   *
   * @throws TidegateException BATCH, when it is something else
   */
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

  /**
   * The columns of both. What the table has set for its own columns stays: comments, constraints, whether NULL is
   * allowed.
   */
  private static StructType merged(StructType now, StructType wanted) {
    List<StructField> fields = new ArrayList<>();
    for (StructField field : wanted.fields()) {
      fields.add(names(now).contains(field.name()) ? merged(now.apply(field.name()), field) : field);
    }
    for (StructField field : now.fields()) {
      if (!names(wanted).contains(field.name())) {
        fields.add(field);
      }
    }
    return new StructType(fields.toArray(StructField[]::new));
  }

  private static StructField merged(StructField now, StructField wanted) {
    var metadata = new MetadataBuilder().withMetadata(wanted.metadata()).withMetadata(now.metadata()).build();
    StructField field = new StructField(now.name(), merged(now.dataType(), wanted.dataType()), now.nullable(), metadata);
    return isWider(now.dataType(), field.dataType()) ? recorded(now.dataType(), field) : field;
  }

  private static boolean isWider(DataType now, DataType wanted) {
    return now instanceof AtomicType from
        && wanted instanceof AtomicType to
        && !from.equals(to)
        && TypeWidening.isTypeChangeSupported(from, to);
  }

  /** Returns the field with a record of the type that the table's older files have: Delta's readers require it. */
  private static StructField recorded(DataType before, StructField field) {
    TypeChange change = new TypeChange(Option.empty(), before, field.dataType(), NO_PATH);
    return new TypeWideningMetadata(CollectionConverters.asScala(List.of(change)).toSeq()).appendToField(field);
  }

  private static DataType merged(DataType now, DataType wanted) {
    if (now instanceof StructType from && wanted instanceof StructType to) {
      return merged(from, to);
    }
    if (now instanceof ArrayType from && wanted instanceof ArrayType to) {
      return new ArrayType(merged(from.elementType(), to.elementType()), from.containsNull());
    }
    if (now instanceof MapType from && wanted instanceof MapType to) {
      return new MapType(
          merged(from.keyType(), to.keyType()), merged(from.valueType(), to.valueType()), from.valueContainsNull());
    }
    return wanted;
  }

  private static List<String> names(StructType struct) {
    return List.of(struct.fieldNames());
  }
}
