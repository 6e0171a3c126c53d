package io.tidegate.commit.columns;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.delta.DeltaColumnMapping;
import org.apache.spark.sql.delta.NameMapping$;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The names that a table's columns have in its data files. */
public final class ColumnNames {
  private ColumnNames() {}

  /** Returns the names that some columns have in data files and in partition values. */
  public static Set<String> inFiles(Metadata table, List<String> columns) {
    if (table.columnMappingMode() == NoMapping$.MODULE$) {
      return Set.copyOf(columns);
    }
    return columns.stream()
        .map(column -> DeltaColumnMapping.getPhysicalName(table.schema().apply(column)))
        .collect(Collectors.toSet());
  }

  /** Refuses a table whose columns have other names in its files than the producer's files have. */
  public static void requireOwn(String location, Metadata table) {
    if (table.columnMappingMode() == NoMapping$.MODULE$) {
      return;
    }
    if (table.columnMappingMode() != NameMapping$.MODULE$ || renamed(table.schema())) {
      throw new TidegateException(
          Kind.BATCH,
          location + " maps its columns to other names, or by id: the rows of registered files would all read as NULL."
              + " Load this table instead (mode: load).");
    }
  }

  private static boolean renamed(DataType type) {
    if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) {
        // Delta would give a field without a physical name one that no file has.
        boolean own = DeltaColumnMapping.hasPhysicalName(field)
            && DeltaColumnMapping.getPhysicalName(field).equals(field.name());
        if (!own || renamed(field.dataType())) {
          return true;
        }
      }
    } else if (type instanceof ArrayType array) {
      return renamed(array.elementType());
    } else if (type instanceof MapType map) {
      return renamed(map.keyType()) || renamed(map.valueType());
    }
    return false;
  }
}
