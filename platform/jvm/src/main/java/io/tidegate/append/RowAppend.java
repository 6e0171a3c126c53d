package io.tidegate.append;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.CommitActions;
import io.tidegate.delta.CommitAttempts;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import io.tidegate.ledger.LedgerMemory;
import io.tidegate.ledger.MemoryFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Appends a few rows to a table once per transaction number, without a Spark job: one Parquet file, one commit.
 *
 * <p>For rows that are in the driver anyway. Spark's writer needs a job for the rows, and another for the table's
 * transactions.
 */
public final class RowAppend {
  private RowAppend() {}

  /**
   * Appends {@code rows}, a JSON array of objects by column name, unless the application's transaction {@code number}
   * or a later one is in the table.
   *
   * @param seen the version at which the caller saw the table, see {@link TableView#seen}
   * @return the version with the rows, or null when they were not written
   * @throws TidegateException when there is no table, or rows and columns do not fit
   */
  public static Long append(SparkSession spark, String table, String appId, long number, String rows, long seen) {
    TableView view = TableView.seen(spark, table, seen);
    if (!view.exists()) {
      throw new TidegateException(Kind.BATCH, "there is no table at " + table + "; create it before rows are appended.");
    }
    Path file = new Path(view.root(), "part-%020d-%s.parquet".formatted(number, UUID.randomUUID()));
    AtomicReference<AddFile> written = new AtomicReference<>();
    return CommitAttempts.repeat(
        view,
        "transaction " + number + " of " + appId + " was",
        " to " + table + ". Nothing is lost: run it again.",
        snapshot -> {
          Long last = snapshot.lastTxn(appId);
          if (last != null && last >= number) {
            return null; // a file written by an earlier attempt is an orphan
          }
          if (written.get() == null) {
            written.set(write(snapshot, file, rows));
          }
          long version = commit(snapshot, written.get(), appId, number);
          TableView committed = TableView.at(spark, table, version);
          if (committed != null) {
            SmallFiles.merge(committed);
          }
          return version;
        });
  }

  /**
   * Returns why each row would not fit a table, in order; null where it fits. Nothing is written.
   *
   * @param rows as for {@link #append}, but an empty array and values of any length are allowed
   */
  public static List<String> problems(StructType columns, String rows) {
    JsonNode parsed = Json.treeOfAnySizeOrNull(rows);
    if (parsed == null || !parsed.isArray()) {
      throw new TidegateException(Kind.BATCH, "argument rows is not a JSON array; give an object for each row.");
    }
    List<String> problems = new ArrayList<>();
    for (JsonNode row : parsed) {
      problems.add(RowFile.problem(columns, row));
    }
    return problems;
  }

  private static long commit(TableView view, AddFile add, String appId, long number) {
    PinnedTransaction txn = new PinnedTransaction(view);
    Action transaction = txn.mark(appId, number);
    long version =
        txn.commit(CollectionConverters.asScala(List.of(transaction, add)).toSeq(), CommitActions.write(null));
    view.committed(txn);
    return version;
  }

  private static AddFile write(TableView view, Path file, String rows) {
    JsonNode parsed = Json.treeOrNull(rows);
    if (parsed == null || !parsed.isArray() || parsed.isEmpty()) {
      throw new TidegateException(Kind.BATCH, "argument rows is not a JSON array with rows; give an object for each row.");
    }
    try {
      MemoryFile memory = new MemoryFile();
      RowFile written = RowFile.write(memory, view.snapshot().metadata().schema(), parsed);
      return put(view, file.getName(), memory, written, true);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + file + ": " + e.getMessage(), e);
    }
  }

  /** Writes a data file of the table, and remembers its rows. Returns the action that adds the file. */
  static AddFile put(TableView view, String name, MemoryFile memory, RowFile written, boolean dataChange)
      throws IOException {
    Path file = new Path(view.root(), name);
    byte[] content = memory.content();
    try (var out = file.getFileSystem(view.hadoopConf()).create(file, true)) {
      out.write(content);
    }
    LedgerMemory.remember(file, content);
    return CommitActions.addFile(
        name, Map.of(), content.length, System.currentTimeMillis(), Json.write(written.statistics()), dataChange);
  }
}
