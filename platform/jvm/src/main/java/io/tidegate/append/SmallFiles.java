package io.tidegate.append;

import io.tidegate.delta.CommitActions;
import io.tidegate.delta.LiveFile;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import io.tidegate.ledger.LedgerFile;
import io.tidegate.ledger.MemoryFile;
import io.tidegate.ledger.Utf8Order;
import io.tidegate.storage.PlainRead;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Merges the small files that {@link RowAppend} writes into one that is sorted by key, so that a ledger has few files.
 *
 * <p>It follows an append, as a separate commit that changes no row, on exactly the snapshot that it read. Any other
 * commit that comes first wins, and the next append tries again.
 */
final class SmallFiles {
  /** So many files of about one size are merged. */
  static final int MERGED_FILES = 16;

  /** The classes of sizes end at so many bytes. Larger files stay as they are. */
  private static final long[] SIZES = {64 << 10, 256 << 10};

  /** Names of files that Tidegate wrote. */
  private static final Pattern OURS = Pattern.compile("(part-\\d{20}|merged)-[^/]*");

  private static final Logger LOG = LoggerFactory.getLogger(SmallFiles.class);

  private final TableView view;
  private final StructType schema;
  private final MessageType type;

  private SmallFiles(TableView view) {
    this.view = view;
    this.schema = view.snapshot().metadata().schema();
    this.type = RowFile.typeOf(schema);
  }

  /** Merges if there are many. Never fails, because the rows that were appended are in the table. */
  static void merge(TableView view) {
    try {
      List<LiveFile> files = many(view.liveFiles());
      if (files != null) {
        new SmallFiles(view).replace(files);
      }
    } catch (PinnedTransaction.SnapshotMoved e) {
      LOG.debug("the small files of {} stay: another writer has just committed", view.root());
    } catch (IOException | RuntimeException e) {
      LOG.warn("the small files of {} were not merged; the next append tries again", view.root(), e);
    }
  }

  /** Returns files of the smallest class of which there are enough, or null. */
  private static List<LiveFile> many(List<LiveFile> live) {
    if (live == null) {
      return null;
    }
    List<LiveFile> ours = live.stream().filter(file -> !file.hasVector() && OURS.matcher(file.path()).matches()).toList();
    long from = 0;
    for (long to : SIZES) {
      long least = from;
      List<LiveFile> found = ours.stream().filter(file -> least <= file.size() && file.size() < to).toList();
      if (found.size() >= MERGED_FILES) {
        return found.subList(0, MERGED_FILES);
      }
      from = to;
    }
    return null;
  }

  private void replace(List<LiveFile> files) throws IOException {
    List<Group> rows = new ArrayList<>();
    List<Action> actions = new ArrayList<>();
    for (LiveFile file : files) {
      List<Group> read = read(file);
      if (read == null) {
        return; // the table has had other columns since
      }
      rows.addAll(read);
      actions.add(removed(file));
    }
    rows.sort(inOrder());
    MemoryFile memory = new MemoryFile();
    RowFile written = RowFile.write(memory, schema, rows);
    AddFile add = RowAppend.put(view, "merged-%s.parquet".formatted(UUID.randomUUID()), memory, written, false);
    actions.add(add);
    PinnedTransaction txn = new PinnedTransaction(view);
    txn.commit(CollectionConverters.asScala(actions).toSeq(), CommitActions.write(null));
    view.committed(txn);
  }

  private List<Group> read(LiveFile file) throws IOException {
    Path path = new Path(view.root(), new Path(java.net.URI.create(file.path())));
    byte[] content = PlainRead.read(path.getFileSystem(view.hadoopConf()), path);
    if (content == null) {
      throw new IOException(path + " is in the log, but the file is gone");
    }
    return LedgerFile.rows(content, type);
  }

  private static RemoveFile removed(LiveFile file) {
    AddFile live = CommitActions.addFile(file.path(), Map.of(), file.size(), 0, null, false);
    return live.removeWithTimestamp(System.currentTimeMillis(), false);
  }

  private Comparator<Group> inOrder() {
    Comparator<String> texts = Comparator.nullsFirst(Utf8Order.INSTANCE);
    return Comparator.<Group, String>comparing(row -> has(row, "key") ? row.getString("key", 0) : null, texts)
        .thenComparingLong(row -> has(row, "n") ? row.getLong("n", 0) : -1)
        .thenComparingInt(row -> has(row, "position") ? row.getInteger("position", 0) : -1);
  }

  private boolean has(Group row, String column) {
    return type.containsField(column) && row.getFieldRepetitionCount(column) > 0;
  }
}
