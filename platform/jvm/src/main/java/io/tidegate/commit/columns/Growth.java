package io.tidegate.commit.columns;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.CommitActions;
import io.tidegate.delta.CommitAttempts;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** New columns of a table: tried on its snapshot before anything depends on them, or added in a commit. */
public final class Growth {
  private static final Seq<Action> NOTHING = CollectionConverters.asScala(List.<Action>of()).toSeq();

  /** Characters of Delta's refusal that an error quotes. */
  private static final int MAX_CHARS = 500;

  private Growth() {}

  /**
   * Begins a transaction in which the table has the columns of {@code schema} as well, or is created with them.
   *
   * @param partitions names of the partition columns; a table that has columns keeps its own
   * @param properties the Delta table properties that the columns need
   * @throws TidegateException COLUMNS, when Delta refuses the columns although it takes the table as it is
   */
  public static PinnedTransaction begun(
      TableView table, StructType schema, List<String> partitions, Map<String, String> properties) {
    PinnedTransaction txn = new PinnedTransaction(table);
    if (!table.exists()) {
      Metadata first = TableMetadata.of(schema, partitions, properties, null);
      attempt(table, () -> new PinnedTransaction(table).updateMetadataForNewTable(first));
      txn.updateMetadataForNewTable(first);
      return txn;
    }
    Metadata now = table.snapshot().metadata();
    Metadata wanted =
        now.schema().isEmpty()
            ? TableMetadata.with(now, schema, partitions, properties)
            : TableMetadata.with(now, schema, properties);
    if (!wanted.equals(now)) {
      attempt(table, () -> rehearse(table, wanted));
      txn.updateMetadata(wanted, false);
    }
    return txn;
  }

  /**
   * Adds the columns and nested fields that the table does not have.
   *
   * @throws TidegateException COLUMNS, when Delta refuses them; BUSY, when other writers won every attempt
   */
  public static void add(SparkSession spark, String table, StructType schema, Map<String, String> properties) {
    TableView view = TableView.open(spark, table);
    if (!view.exists()) {
      throw new TidegateException(Kind.BATCH, "there is no table at " + table + "; create it before it gets columns.");
    }
    CommitAttempts.repeat(
        view,
        "new columns of " + table + " were",
        ". Nothing was changed: run it again.",
        snapshot -> {
          StructType now = snapshot.snapshot().metadata().schema();
          PinnedTransaction txn = begun(snapshot, schema, List.of(), properties);
          if (!txn.metadata().schema().equals(now)) {
            txn.commit(NOTHING, new DeltaOperations.UpdateSchema(now, txn.metadata().schema()));
          }
          return null;
        });
  }

  /**
   * Tries columns. They are refused by what Delta throws, whatever its class: some refusals have no condition, such as
   * that of a name that another column has in the files. An error of the environment is not a refusal: it does not come
   * twice, or it comes without the columns, too.
   */
  private static void attempt(TableView table, Runnable change) {
    try {
      change.run();
    } catch (Exception e) { // Scala throws checked exceptions without declaring them
      if (e instanceof TidegateException || !isAccepted(table)) {
        throw e;
      }
      Exception twice = again(change);
      if (twice != null && twice.getClass() == e.getClass()) {
        throw new TidegateException(Kind.COLUMNS, "Delta does not take the columns: " + inOneLine(e), e);
      }
    }
  }

  /** Runs a change and returns what it throws, or null. */
  private static Exception again(Runnable change) {
    try {
      change.run();
      return null;
    } catch (Exception e) {
      return e;
    }
  }

  /** Whether Delta accepts the table as it is. If not, new columns are not the cause. */
  private static boolean isAccepted(TableView table) {
    if (!table.exists()) {
      return true;
    }
    try {
      rehearse(table, table.snapshot().metadata());
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  /** Does everything that a commit of the metadata does before it writes. */
  private static void rehearse(TableView table, Metadata metadata) {
    PinnedTransaction txn = new PinnedTransaction(table);
    txn.updateMetadata(metadata, false);
    txn.prepareCommit(NOTHING, CommitActions.write(null));
  }

  private static String inOneLine(Exception e) {
    String text = String.valueOf(e.getMessage()).strip().replaceAll("\\s+", " ");
    return text.length() > MAX_CHARS ? text.substring(0, MAX_CHARS) + "…" : text;
  }
}
