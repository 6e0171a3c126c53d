package io.tidegate.commit.batch;

import io.tidegate.commit.columns.TableMetadata;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructType;

/**
 * Creates the batch's table, or gives its first columns to a table that has none: after a reset, or when the batches
 * before it were void.
 */
record Birth(BatchFile batch) implements Effect {
  @Override
  public String problem() {
    String problem = BatchFile.problemOfColumns(create().schema(), "create.schema");
    if (problem != null) {
      return problem;
    }
    if (create().partitionColumns() == null || create().properties() == null) {
      return "create.partition_columns or create.properties is missing";
    }
    if (create().properties().containsKey(TableRules.TRANSACTION_RETENTION)) {
      return "create.properties sets " + TableRules.TRANSACTION_RETENTION + ", which would let batches land twice";
    }
    return null;
  }

  @Override
  public List<String> whyVoid(Target target) {
    boolean hasColumns = target.metadata() != null && !target.metadata().schema().isEmpty();
    return hasColumns ? List.of("another writer has given the table columns meanwhile") : List.of();
  }

  @Override
  public boolean shapesColumns() {
    return true;
  }

  @Override
  public Metadata apply(Metadata now) {
    StructType schema = TableMetadata.schema(create().schema().toString());
    return now == null
        ? TableMetadata.of(schema, create().partitionColumns(), owned(), create().name())
        : TableMetadata.with(now, schema, create().partitionColumns(), create().properties());
  }

  /** The table without columns and what only those need: only files that land shape a schema. */
  @Override
  public Metadata applyVoid(Metadata now) {
    if (now != null) {
      return now;
    }
    Map<String, String> properties = owned();
    properties.remove(DeltaConfigs.COLUMN_MAPPING_MODE().key());
    return TableMetadata.of(new StructType(), List.of(), properties, create().name());
  }

  /** The properties, with those that name the owner. */
  private Map<String, String> owned() {
    Map<String, String> properties = new HashMap<>(create().properties());
    properties.put(TableRules.LAKE, batch.lake());
    properties.put(TableRules.GENERATION, batch.generation());
    return properties;
  }

  private BatchFile.Create create() {
    return batch.create();
  }
}
