package io.tidegate.commit.batch;

import io.tidegate.commit.columns.TableMetadata;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.actions.Metadata;

/**
 * Takes over a table that others made: the lake owns it from the batch on. Its columns and files stay as they are.
 *
 * <p>It applies to the version that it was decided on, and to no other: {@link TableRules#isAdopted}.
 */
record Adoption(BatchFile batch) implements Effect {
  @Override
  public String problem() {
    if (batch.n() != 1 || batch.create() != null || batch.evolve() != null) {
      return "it takes over a table, and is not the first batch or gives the table columns";
    }
    if (batch.afterVersion() < 0 || batch.adopt().properties() == null) {
      return "it takes over a table of no version, or adopt.properties is missing";
    }
    return batch.adopt().properties().containsKey(TableRules.TRANSACTION_RETENTION)
        ? "adopt.properties sets " + TableRules.TRANSACTION_RETENTION + ", which would let batches land twice"
        : null;
  }

  @Override
  public List<String> whyVoid(Target target) {
    return List.of();
  }

  @Override
  public Metadata apply(Metadata now) {
    Map<String, String> properties = new HashMap<>(batch.adopt().properties());
    properties.put(TableRules.LAKE, batch.lake());
    properties.put(TableRules.GENERATION, batch.generation());
    return TableMetadata.with(now, now.schema(), properties);
  }
}
