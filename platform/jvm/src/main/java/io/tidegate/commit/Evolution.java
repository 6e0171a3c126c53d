package io.tidegate.commit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** A table's metadata with more columns. */
public final class Evolution {
  private Evolution() {}

  /** The metadata of {@code table} with the columns of {@code schema} as well, and with more properties. */
  public static Metadata with(Metadata table, StructType schema, Map<String, String> properties) {
    return with(table, schema, CollectionConverters.asJava(table.partitionColumns()), properties);
  }

  /** The first columns of a table that was made without any. */
  static Metadata begun(Metadata table, BatchFile.Create create) {
    return with(table, Birth.schema(create.schema().toString()), create.partitionColumns(), create.properties());
  }

  /** As above, with other partition columns: only of a table that has no columns yet. */
  public static Metadata with(
      Metadata table, StructType schema, List<String> partitions, Map<String, String> properties) {
    var more = DeltaConfigs.validateConfigurations(Map$.MODULE$.from(CollectionConverters.asScala(properties)));
    Map<String, String> all = new HashMap<>(CollectionConverters.asJava(table.configuration()));
    all.putAll(CollectionConverters.asJava(more));
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

  static Metadata of(Metadata table, BatchFile.Evolve evolve) {
    return with(table, Birth.schema(evolve.schema().toString()), evolve.properties());
  }

  /** Whether the table still has the columns that the batch was decided on; comments and nullability do not count. */
  static boolean fits(Metadata table, BatchFile.Evolve evolve) {
    StructType base = plain(Birth.schema(evolve.base().toString()));
    return DataType.equalsIgnoreNullability(base, plain(table.schema()));
  }

  private static StructType plain(StructType schema) {
    return (StructType) stripped(schema);
  }

  private static DataType stripped(DataType type) {
    if (type instanceof StructType struct) {
      return new StructType(
          Arrays.stream(struct.fields())
              .map(f -> new StructField(f.name(), stripped(f.dataType()), true, org.apache.spark.sql.types.Metadata.empty()))
              .toArray(StructField[]::new));
    }
    if (type instanceof ArrayType array) {
      return new ArrayType(stripped(array.elementType()), true);
    }
    if (type instanceof MapType map) {
      return new MapType(stripped(map.keyType()), stripped(map.valueType()), true);
    }
    return type;
  }

  /** What the table says of its own columns stays: comments, constraints, whether NULL is allowed. */
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
    return new StructField(now.name(), merged(now.dataType(), wanted.dataType()), now.nullable(), metadata);
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
