package io.tidegate.commit.batch;

import io.tidegate.commit.columns.TableMetadata;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.delta.DeltaColumnMapping;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Gives a table more columns. */
record Evolution(BatchFile.Evolve evolve) implements Effect {
  @Override
  public String problem() {
    String problem = BatchFile.problemOfColumns(evolve.base(), "evolve.base");
    problem = problem == null ? BatchFile.problemOfColumns(evolve.schema(), "evolve.schema") : problem;
    return problem == null && evolve.properties() == null ? "evolve.properties is missing" : problem;
  }

  /**
   * Void unless the table still has the columns that it was decided on, with the ids and the names in data files that
   * they had; comments and nullability do not count.
   */
  @Override
  public List<String> whyVoid(Target target) {
    DataType base = plain(TableMetadata.schema(evolve.base().toString()));
    boolean fits = plain(base).equals(plain(target.metadata().schema()));
    return fits ? List.of() : List.of("another writer has changed the table's columns meanwhile");
  }

  @Override
  public boolean shapesColumns() {
    return true;
  }

  @Override
  public Metadata apply(Metadata now) {
    return TableMetadata.with(now, TableMetadata.schema(evolve.schema().toString()), evolve.properties());
  }

  private static org.apache.spark.sql.types.Metadata identity(StructField field) {
    MetadataBuilder found = new MetadataBuilder();
    if (DeltaColumnMapping.hasColumnId(field)) {
      found.putLong(DeltaColumnMapping.COLUMN_MAPPING_METADATA_ID_KEY(), DeltaColumnMapping.getColumnId(field));
    }
    if (DeltaColumnMapping.hasPhysicalName(field)) {
      found.putString(
          DeltaColumnMapping.COLUMN_MAPPING_PHYSICAL_NAME_KEY(), DeltaColumnMapping.getPhysicalName(field));
    }
    return found.build();
  }

  private static DataType plain(DataType type) {
    if (type instanceof StructType struct) {
      return new StructType(
          Arrays.stream(struct.fields())
              .map(f -> new StructField(f.name(), plain(f.dataType()), true, identity(f)))
              .toArray(StructField[]::new));
    }
    if (type instanceof ArrayType array) {
      return new ArrayType(plain(array.elementType()), true);
    }
    if (type instanceof MapType map) {
      return new MapType(plain(map.keyType()), plain(map.valueType()), true);
    }
    return type;
  }
}
