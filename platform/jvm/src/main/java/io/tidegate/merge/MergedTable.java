package io.tidegate.merge;

import io.tidegate.Names;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.delta.RowTrackingFeature$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Which tables {@link KeyedMerge} can merge into. Delta's own MERGE takes the others. */
final class MergedTable {
  /** Metadata of a column that does not change the values that are written. */
  private static final Pattern PLAIN = Pattern.compile("comment|delta\\.columnMapping\\..*");

  private MergedTable() {}

  /** Whether a table has no features that a merge must serve, and those that it needs. */
  static boolean suits(Snapshot snapshot) {
    Map<String, String> properties = CollectionConverters.asJava(snapshot.metadata().configuration());
    return snapshot.metadata().partitionColumns().isEmpty()
        && is(properties, "delta.enableDeletionVectors")
        // By the feature, not by the property: a table that has the feature numbers its rows even while the property is
        // off.
        && !snapshot.protocol().isFeatureSupported(RowTrackingFeature$.MODULE$);
  }

  /**
   * Whether a query has exactly the columns of the table, with the table's types, and the query alone determines their
   * values.
   *
   * <p>Delta's MERGE keeps columns that it does not set, fills in defaults, and matches the fields within a column by
   * name. Nothing of that is done here. The columns may be in any order.
   */
  static boolean isOf(StructType table, StructType query) {
    Map<String, DataType> given =
        Stream.of(query.fields()).collect(Collectors.toMap(f -> Names.folded(f.name()), StructField::dataType, (a, b) -> a));
    return query.length() == table.length()
        && isPlain(table)
        && Stream.of(table.fields())
            .allMatch(
                field ->
                    given.containsKey(Names.folded(field.name()))
                        && DataType.equalsIgnoreNullability(given.get(Names.folded(field.name())), field.dataType()));
  }

  private static boolean isPlain(DataType type) {
    if (type instanceof ArrayType array) {
      return isPlain(array.elementType());
    }
    if (type instanceof MapType map) {
      return isPlain(map.keyType()) && isPlain(map.valueType());
    }
    return !(type instanceof StructType struct)
        || Stream.of(struct.fields())
            .allMatch(
                field ->
                    isPlain(field.dataType())
                        && CollectionConverters.asJava(field.metadata().map().keySet()).stream()
                            .allMatch(PLAIN.asMatchPredicate()));
  }

  private static boolean is(Map<String, String> properties, String name) {
    return Boolean.parseBoolean(properties.get(name));
  }
}
