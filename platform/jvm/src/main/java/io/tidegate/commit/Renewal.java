package io.tidegate.commit;

import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.batch.TableRules;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.delta.CommitActions;
import io.tidegate.delta.CommitAttempts;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.skipping.clustering.ClusteredTableUtils$;
import org.apache.spark.sql.delta.skipping.clustering.ClusteringColumn;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Starts a table over in one commit of its log: every live file, the columns and the properties are removed, and
 * another generation owns the table.
 *
 * <p>The log continues, so a late batch of the generation before finds another owner and is refused. No file is
 * deleted, and the versions before can still be read.
 */
public final class Renewal {
  private Renewal() {}

  /**
   * Gives the table to a generation, and creates it if it does not exist. Does nothing if the generation owns it
   * already.
   *
   * @param properties the table's properties from now on, {@link TableRules#LAKE} and {@link TableRules#GENERATION}
   *     among them
   * @return the version with which that generation owns the table, or a later one
   * @throws TidegateException OWNERSHIP, when the table is not this lake's
   */
  public static long renew(SparkSession spark, String table, Map<String, String> properties, String name) {
    String lake = properties.get(TableRules.LAKE);
    String generation = properties.get(TableRules.GENERATION);
    if (lake == null || generation == null || properties.containsKey(TableRules.TRANSACTION_RETENTION)) {
      throw new TidegateException(
          Kind.BATCH, "argument properties names no lake and generation, or lets transactions expire; give its own.");
    }
    return CommitAttempts.repeat(
        TableView.open(spark, table),
        "the renewal of " + table + " was",
        ". Nothing was changed: run it again.",
        view -> {
          if (view.exists()) {
            Map<String, String> now = CollectionConverters.asJava(view.snapshot().metadata().configuration());
            if (!lake.equals(now.get(TableRules.LAKE))) {
              throw new TidegateException(
                  Kind.OWNERSHIP,
                  table + " is a Delta table of " + (now.get(TableRules.LAKE) == null ? "no lake" : "another lake")
                      + ", which this lake must not touch: move that table away, or give this lake another prefix.");
            }
            if (generation.equals(now.get(TableRules.GENERATION))) {
              return view.snapshot().version();
            }
          }
          return commit(view, TableMetadata.of(new StructType(), List.of(), properties, name), generation);
        });
  }

  private static long commit(TableView view, Metadata metadata, String generation) {
    PinnedTransaction txn = new PinnedTransaction(view);
    List<Action> actions = new ArrayList<>();
    if (view.exists()) {
      txn.updateMetadataForTableOverwrite(metadata);
      long now = System.currentTimeMillis();
      for (AddFile file : view.snapshot().allFiles().collectAsList()) {
        actions.add(file.removeWithTimestamp(now, true));
      }
      // The columns that the rows were clustered by are gone.
      var domains = view.snapshot().domainMetadata();
      var none = CollectionConverters.asScala(List.<ClusteringColumn>of()).toSeq();
      var clustering = ClusteredTableUtils$.MODULE$.getMatchingMetadataDomain(none, domains).clusteringDomainOpt();
      actions.addAll(CollectionConverters.asJava(clustering.toList()));
    } else {
      txn.updateMetadataForNewTable(metadata);
    }
    String mark = Json.write(Map.of("tidegate", Map.of("renewed", generation)));
    return txn.commit(CollectionConverters.asScala(actions).toSeq(), CommitActions.write(mark));
  }
}
