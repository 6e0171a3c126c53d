package io.tidegate.commit;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.batch.BatchFile;
import io.tidegate.commit.batch.Effects;
import io.tidegate.commit.batch.TableRules;
import io.tidegate.commit.batch.Target;
import io.tidegate.delta.CommitActions;
import io.tidegate.delta.CommitAttempts;
import io.tidegate.delta.CommitTail;
import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lands one batch in one Delta transaction, exactly once however often and by however many callers it is called.
 *
 * <p>Each attempt reads one snapshot, asks the batch's effects about it and commits directly on it. An attempt that is
 * overtaken by another commit starts again; what landed is what the log says, never what an attempt believes.
 */
public final class BatchCommit {
  private final SparkSession spark;
  private final BatchFile batch;
  private final Effects effects;
  private final Path batchPath;
  private final FileSystem batchFs;
  private final boolean verifyFiles;
  private final Runnable beforeCommit;

  private BatchCommit(
      SparkSession spark, BatchFile batch, Path batchPath, FileSystem fs, boolean verifyFiles, Runnable beforeCommit) {
    this.spark = spark;
    this.batch = batch;
    this.effects = batch.effects();
    this.batchPath = batchPath;
    this.batchFs = fs;
    this.verifyFiles = verifyFiles;
    this.beforeCommit = beforeCommit;
  }

  /**
   * Lands the batch object at {@code batchUri}.
   *
   * @param verifyFiles look up every file of the batch in the store, not only the staged ones
   * @param seen the version that the batch was prepared on, see {@link TableView#seen}. Another commit since then is
   *     found by the commit itself, which is made on that version or not at all
   * @param digest of the batch; empty if the object must be read to know it
   * @throws TidegateException when the table may not be touched; nothing is committed then
   */
  public static Landed land(
      SparkSession spark, String table, String batchUri, boolean verifyFiles, long seen, String digest) {
    return land(spark, table, batchUri, verifyFiles, seen, digest, () -> {});
  }

  /** As above; {@code beforeCommit} runs between the checks of an attempt and its commit (a seam for tests). */
  static Landed land(
      SparkSession spark,
      String table,
      String batchUri,
      boolean verifyFiles,
      long seen,
      String digest,
      Runnable beforeCommit) {
    // A run that finds a batch did not see the table on which it was prepared.
    TableView view = TableView.seen(spark, table, verifyFiles ? -1 : seen);
    Path path = new Path(batchUri);
    try {
      FileSystem fs = path.getFileSystem(view.hadoopConf());
      BatchFile batch = BatchFile.read(fs, path, digest);
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
    return CommitAttempts.repeat(
        first,
        "batch " + batch.n() + " was",
        " to " + batch.location() + ". Nothing is lost: run the table again.",
        view -> {
          CommitTail tail = CommitTail.read(view, batch.afterVersion());
          Landed before = alreadyLanded(view, tail);
          if (before != null) {
            return settled(before);
          }
          Target target = target(view);
          String reason = effects.whyVoid(target);
          beforeCommit.run();
          return settled(commit(target, reason));
        });
  }

  /** Returns what landed before, or null when this batch is next; refuses a table that it may not touch. */
  private Landed alreadyLanded(TableView view, CommitTail tail) throws IOException {
    if (!view.exists()) {
      TableRules.checkMayBeMissing(batch);
      return null;
    }
    Map<String, String> properties = CollectionConverters.asJava(view.snapshot().metadata().configuration());
    if (TableRules.isAdopted(batch, properties, view.snapshot().version())) {
      TableRules.checkInside(view);
      return null;
    }
    TableRules.checkOwner(batch, properties, tail);
    Long txn = view.lastTxn(batch.appId());
    if (txn != null && txn >= batch.n()) {
      return Landed.inLog(batch, tail, VoidObject.readOrNull(batchFs, batchPath));
    }
    TableRules.checkClock(batch, txn, !view.snapshot().metadata().schema().isEmpty());
    TableRules.checkInside(view);
    TableRules.checkForeign(batch, properties, tail);
    effects.checkTable(properties);
    return null;
  }

  private Target target(TableView view) {
    Metadata metadata = view.exists() ? view.snapshot().metadata() : null;
    return new Target(view, metadata, LiveEntries.find(spark, view, effects.paths()), verifyFiles);
  }

  /** Commits the batch on the target's snapshot: with all effects, or void for {@code reason}. */
  private Landed commit(Target target, String reason) {
    TableView view = target.view();
    PinnedTransaction txn = new PinnedTransaction(view);
    Metadata metadata = reason == null ? effects.apply(target.metadata()) : effects.applyVoid(target.metadata());
    if (!view.exists()) {
      txn.updateMetadataForNewTable(metadata);
    } else if (metadata != target.metadata()) {
      txn.updateMetadata(metadata, false);
    }
    List<Action> actions = new ArrayList<>();
    actions.add(txn.mark(batch.appId(), batch.n()));
    actions.addAll(reason == null ? effects.actions(target) : List.of());
    CommitMark mark = reason == null ? CommitMark.committed(batch) : CommitMark.voided(batch, reason);
    long version = txn.commit(CollectionConverters.asScala(actions).toSeq(), CommitActions.write(mark.json()));
    view.committed(txn);
    return new Landed(version, mark.outcome(), batch.digest(), reason, false);
  }

  /** Writes the object that belongs next to a void batch; a call that dies before it leaves that to the next call. */
  private Landed settled(Landed landed) throws IOException {
    if (landed.outcome().equals(CommitMark.VOID)) {
      new VoidObject(landed.digest(), landed.reason(), landed.version()).put(batchFs, batchPath);
    }
    return landed;
  }
}
