package io.tidegate.procedures.silver;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.InParallel;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddCDCFile;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.apache.spark.sql.delta.util.FileNames;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * {@code has_changes(table, version)}: whether a table still has what the change data feed of a version is read from. The
 * errors of a reader do not say that: a file that is gone fails as any other task that reads.
 */
public final class HasChangesProcedure extends LocalProcedure {
  private static final int THREADS = 16;
  private static final String FEED = "delta.enableChangeDataFeed";

  public HasChangesProcedure() {
    super(
        "has_changes",
        "whether the changes that a version of a table made can still be read",
        new StructType().add("table", StringType).add("version", LongType),
        new StructType().add("has", BooleanType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    long version = arguments.number("version");
    // A log may have the checkpoint of a version and not its commit, which alone has the changes.
    Set<Path> files = isRecreatable(table, version) ? filesOrNull(table, version) : null;
    return List.<Object[]>of(new Object[] {files != null && hasFeed(table, version) && hasAll(table, files)});
  }

  /** Whether the log has all commits from a checkpoint, or from the first commit, up to a version. */
  private static boolean isRecreatable(TableView table, long version) {
    return table.exists() && table.log().history().getEarliestRecreatableCommit() <= version;
  }

  private static boolean hasFeed(TableView table, long version) {
    Snapshot then = table.log().getSnapshotAt(version, Option.empty(), Option.empty(), false);
    Option<String> feed = then.metadata().configuration().get(FEED);
    return feed.isDefined() && Boolean.parseBoolean(feed.get());
  }

  private static boolean hasAll(TableView table, Set<Path> files) {
    return !InParallel.each(files, THREADS, "looking for files", file -> exists(table, file)).contains(false);
  }

  private static Set<Path> filesOrNull(TableView table, long version) {
    try {
      return files(table, version);
    } catch (FileNotFoundException e) {
      return null;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read commit " + version + " of " + table.root() + ": " + e.getMessage(), e);
    }
  }

  private static boolean exists(TableView table, Path file) throws IOException {
    return file.getFileSystem(table.hadoopConf()).exists(file);
  }

  /**
   * Returns the files of a commit's changes: those that its writer made for the feed, or else its data files and their
   * deletion vectors.
   *
   * @throws FileNotFoundException the log does not have the commit
   */
  private static Set<Path> files(TableView table, long version) throws IOException {
    Set<Path> changes = new HashSet<>();
    Set<Path> data = new HashSet<>();
    Path commit = FileNames.unsafeDeltaFile(table.log().logPath(), version);
    try (var lines = table.log().store().readAsIterator(commit, table.hadoopConf())) {
      while (lines.hasNext()) {
        Action action = Action.fromJson(lines.next());
        if (action instanceof AddCDCFile file) {
          changes.add(file.absolutePath(table.log()));
        } else if (action instanceof AddFile file && file.dataChange()) {
          add(data, table, file, file.deletionVector());
        } else if (action instanceof RemoveFile file && file.dataChange()) {
          add(data, table, file, file.deletionVector());
        }
      }
    }
    return changes.isEmpty() ? data : changes;
  }

  private static void add(Set<Path> files, TableView table, FileAction file, DeletionVectorDescriptor vector) {
    files.add(file.absolutePath(table.log()));
    if (vector != null && vector.isOnDisk()) {
      files.add(vector.absolutePath(table.root()));
    }
  }
}
