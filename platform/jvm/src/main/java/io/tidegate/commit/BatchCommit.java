package io.tidegate.commit;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.BatchFile.Add;
import io.tidegate.commit.BatchFile.Remove;
import io.tidegate.delta.CommitActions;
import io.tidegate.delta.CommitAttempts;
import io.tidegate.delta.CommitTail;
import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import io.tidegate.storage.PlainRead;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lands one batch in one Delta transaction, exactly once however often and by however many it is called.
 *
 * <p>Each attempt looks at one snapshot, decides on it and commits directly on it. Whoever is overtaken looks
 * again; what landed is what the log says, never what an attempt believes.
 */
public final class BatchCommit {
  private final SparkSession spark;
  private final BatchFile batch;
  private final Path batchPath;
  private final FileSystem batchFs;
  private final boolean verifyFiles;
  private final Runnable beforeCommit;

  private BatchCommit(
      SparkSession spark, BatchFile batch, Path batchPath, FileSystem fs, boolean verifyFiles, Runnable beforeCommit) {
    this.spark = spark;
    this.batch = batch;
    this.batchPath = batchPath;
    this.batchFs = fs;
    this.verifyFiles = verifyFiles;
    this.beforeCommit = beforeCommit;
  }

  /**
   * Lands the batch object at {@code batchUri}.
   *
   * @param verifyFiles look at every file of the batch, not only at staged ones
   * @throws TidegateException when the table may not be touched; nothing is committed then
   */
  public static Landed land(SparkSession spark, String table, String batchUri, boolean verifyFiles) {
    return land(spark, table, batchUri, verifyFiles, () -> {});
  }

  /** As above; {@code beforeCommit} runs between the checks of an attempt and its commit (a seam for tests). */
  static Landed land(
      SparkSession spark, String table, String batchUri, boolean verifyFiles, Runnable beforeCommit) {
    TableView view = TableView.open(spark, table);
    Path path = new Path(batchUri);
    try {
      FileSystem fs = path.getFileSystem(view.hadoopConf());
      BatchFile batch = BatchFile.parse(read(fs, path), batchUri);
      if (!new Path(batch.location()).equals(new Path(table))) {
        throw new TidegateException(
            Kind.BATCH, batchUri + " is a batch for " + batch.location() + ", not for " + table + "; give its own.");
      }
      return new BatchCommit(spark, batch, path, fs, verifyFiles, beforeCommit).run(view);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot land " + batchUri + ": " + e.getMessage(), e);
    }
  }

  private Landed run(TableView first) throws IOException {
    TableView view = first;
    for (int attempt = 1; attempt <= CommitAttempts.MAX; attempt++) {
      CommitTail tail = CommitTail.read(view, batch.afterVersion());
      Landed before = alreadyLanded(view, tail);
      if (before != null) {
        return settled(before);
      }
      LiveEntries live = live(view);
      String reason = whyVoid(view, live);
      beforeCommit.run();
      try {
        return settled(commit(view, live, reason));
      } catch (PinnedTransaction.SnapshotMoved e) {
        CommitAttempts.pause(attempt);
        view = view.refreshed();
      }
    }
    throw new TidegateException(
        Kind.BUSY,
        "batch " + batch.n() + " was overtaken " + CommitAttempts.MAX + " times by other commits to " + batch.location()
            + ". Nothing is lost: run the table again.");
  }

  /** What landed before, null when this batch is next; refuses a table it may not touch. */
  private Landed alreadyLanded(TableView view, CommitTail tail) throws IOException {
    if (!view.exists()) {
      if (batch.create() == null || batch.afterVersion() >= 0) {
        throw new TidegateException(
            Kind.DROPPED,
            "there is no table at " + batch.location() + ", though batch " + batch.n() + " continues one. It was"
                + " dropped: restore its _delta_log. Or begin anew: delete ledger/" + batch.table() + "/, batches/"
                + batch.table() + "/ and tables/" + batch.table() + ".json under the lake's root, and the DynamoDB items"
                + " of the table and its ledger; the next Materialize of the partition lists its files again.");
      }
      return null;
    }
    Map<String, String> properties = CollectionConverters.asJava(view.snapshot().metadata().configuration());
    TableRules.checkOwner(batch, properties, tail);
    Long txn = view.lastTxn(batch.appId());
    if (txn != null && txn >= batch.n()) {
      return Landed.inLog(batch, tail, VoidObject.readOrNull(batchFs, batchPath));
    }
    TableRules.checkClock(batch, txn, !view.snapshot().metadata().schema().isEmpty());
    TableRules.checkForeign(batch, properties, tail);
    if (!batch.removes().isEmpty()) {
      TableRules.checkRemovable(batch.location(), properties);
    }
    return null;
  }

  private String whyVoid(TableView view, LiveEntries live) throws IOException {
    boolean hasColumns = view.exists() && !view.snapshot().metadata().schema().isEmpty();
    if (hasColumns && batch.create() != null) {
      return "the table has got its columns from somebody else meanwhile";
    }
    if (view.exists() && batch.evolve() != null && !Evolution.fits(view.snapshot().metadata(), batch.evolve())) {
      return "the table's columns were changed by somebody else meanwhile";
    }
    Metadata metadata = metadata(view);
    boolean registers = batch.adds().stream().anyMatch(add -> add.sourceKey() != null);
    if (registers) {
      ColumnNames.requireOwn(batch.location(), metadata);
    }
    List<String> lookAt = Preconditions.toLookAt(batch, verifyFiles);
    FileSystem fs = view.root().getFileSystem(view.hadoopConf());
    return new Preconditions()
        .files(batch, lookAt, SourceFiles.look(fs, view.root(), lookAt))
        .partitions(batch, ColumnNames.inFiles(metadata, CollectionConverters.asJava(metadata.partitionColumns())))
        .notLive(batch, path -> !live.at(path).isEmpty())
        .live(batch, remove -> live.at(remove.path(), remove.dvId()) != null)
        .reason();
  }

  /** The table's metadata once the batch has landed. */
  private Metadata metadata(TableView view) {
    if (!view.exists()) {
      return Birth.of(batch);
    }
    Metadata now = view.snapshot().metadata();
    if (batch.create() != null) {
      // A table that was reset has no columns until its first file.
      return Evolution.begun(now, batch.create());
    }
    return batch.evolve() == null ? now : Evolution.of(now, batch.evolve());
  }

  private Landed commit(TableView view, LiveEntries live, String reason) {
    PinnedTransaction txn = new PinnedTransaction(view);
    if (!view.exists()) {
      // Only files that land shape the schema.
      txn.updateMetadataForNewTable(reason == null ? Birth.of(batch) : Birth.withoutColumns(batch));
    } else if ((batch.create() != null || batch.evolve() != null) && reason == null) {
      txn.updateMetadata(metadata(view), false);
    }
    long now = System.currentTimeMillis();
    List<Action> actions = new ArrayList<>();
    actions.add(txn.mark(batch.appId(), batch.n()));
    List<AddFile> added = reason == null ? batch.adds().stream().map(BatchCommit::addFile).toList() : List.of();
    List<AddFile> removed =
        reason == null
            ? batch.removes().stream().map(remove -> live.at(remove.path(), remove.dvId())).toList()
            : List.of();
    actions.addAll(added);
    removed.forEach(file -> actions.add(file.removeWithTimestamp(now, true)));
    CommitMark mark = reason == null ? CommitMark.committed(batch) : CommitMark.voided(batch, reason);
    long version = txn.commit(CollectionConverters.asScala(actions).toSeq(), CommitActions.write(mark.json()));
    view.committed(
        version,
        mark.json(),
        Map.of(batch.appId(), batch.n()),
        added,
        removed.stream().map(AddFile::path).toList());
    return new Landed(version, mark.outcome(), batch.digest(), reason, false);
  }

  /** Puts what has to lie beside a void batch; a call that died before it leaves that to the next. */
  private Landed settled(Landed landed) throws IOException {
    if (landed.outcome().equals(CommitMark.VOID)) {
      new VoidObject(landed.digest(), landed.reason(), landed.version()).put(batchFs, batchPath);
    }
    return landed;
  }

  private LiveEntries live(TableView view) {
    List<String> paths =
        Stream.concat(batch.adds().stream().map(Add::path), batch.removes().stream().map(Remove::path)).toList();
    return LiveEntries.find(spark, view, paths);
  }

  private static AddFile addFile(Add add) {
    return CommitActions.addFile(add.path(), add.partitionValues(), add.size(), add.modificationTime(), add.stats(), true);
  }

  private static String read(FileSystem fs, Path path) throws IOException {
    byte[] content = PlainRead.read(fs, path);
    if (content == null) {
      throw new TidegateException(
          Kind.BATCH, "there is no batch object " + path + "; decide the batch before committing it.");
    }
    return new String(content, StandardCharsets.UTF_8);
  }
}
