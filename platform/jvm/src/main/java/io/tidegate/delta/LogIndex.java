package io.tidegate.delta;

import io.tidegate.delta.LogLine.FileId;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.delta.DeltaLog;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What commits ask about a table most often, kept current by reading only new commits.
 *
 * <p>Delta rebuilds a table's whole state, with Spark jobs, for every version whose transactions or files are asked
 * for: that takes seconds for each commit, and more with every live file. Here a commit costs one read of its file.
 * A commit that not all readers take for the same, and a checkpoint that this process has not written, are read by Delta.
 * Paths are kept as 64-bit hashes, about 50 bytes each; so "maybe live" must be confirmed, and "not live" is certain.
 */
public final class LogIndex {
  /**
   * A commit without its files; {@code operation} and {@code userMetadata} are null where its writer gave none.
   *
   * @param unclear as that of {@link LoggedCommit}
   */
  public record Entry(long version, String operation, String userMetadata, Map<String, Long> txns, String unclear) {}

  private static final Map<DeltaLog, LogIndex> ALL = Collections.synchronizedMap(new WeakHashMap<>());

  /** Commits that are remembered. Older ones are read from the log. */
  private static final int REMEMBERED = 100;

  /** Up to so many commits are read one by one; more are read by Delta. */
  private static final int READ_SINGLY = 50;

  /**
   * The entries of up to so many live files are kept before they are asked for, because reading a log twice costs more.
   */
  private static final int FEW = 1000;

  /** Delta's unique id of a file's vector, or null, without what else there is of a file: its statistics are long. */
  static final String VECTOR =
      "deletionVector.storageType || deletionVector.pathOrInlineDv || coalesce('@' || deletionVector.offset, '')";

  private static final long FNV_BASIS = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private boolean begun;
  private long version;
  private final Map<String, Long> txns = new HashMap<>();
  private final Deque<Entry> recent = new ArrayDeque<>();

  /** The checkpoints that say nothing else than the index. */
  private final Set<String> checkpoints = new HashSet<>();

  /** The live files whose logged path is the decoded one, and that have no vector; all others; their decoded paths. */
  private final Set<Long> plain = new HashSet<>();
  private final Set<Long> encoded = new HashSet<>();
  private final Set<Long> everEncoded = new HashSet<>();

  /** The live entries whose files are not below the table. */
  private final Set<FileId> outside = new LinkedHashSet<>();

  /** The live files; kept while they are few, or once they were asked for; else null. */
  private Map<FileId, LiveFile> files;

  private boolean filesWanted;

  private LogIndex() {}

  /** Returns the index of a table's log. It lives as long as Delta keeps that log open. */
  static LogIndex of(TableView table) {
    return ALL.computeIfAbsent(table.log(), log -> new LogIndex());
  }

  /** Returns the last transaction of an application in the view, or null. */
  synchronized Long lastTxn(TableView view, String appId) throws IOException {
    if (reaches(view)) {
      return txns.get(appId);
    }
    var found = view.snapshot().transactions().get(appId);
    return found.isDefined() ? (Long) found.get() : null;
  }

  /** Returns how many files are live in the view. */
  synchronized long files(TableView view) throws IOException {
    return reaches(view) ? plain.size() + encoded.size() : view.snapshot().numOfFiles();
  }

  /** Returns a live entry whose file is not below the table, or null. When the index is past the view, of the index. */
  synchronized String outside(TableView view) throws IOException {
    reaches(view);
    return outside.isEmpty() ? null : outside.iterator().next().path();
  }

  /** Returns all live files of the view, or null when the index is past it. */
  synchronized List<LiveFile> liveFiles(TableView view) throws IOException {
    filesWanted = true;
    if (!reaches(view)) {
      return null;
    }
    if (files == null) {
      begun = false;
      reaches(view);
    }
    return List.copyOf(files.values());
  }

  /** Returns the live files of the view if they are few; null otherwise, or when the index is past it. */
  synchronized List<LiveFile> fewFiles(TableView view) throws IOException {
    return reaches(view) && files != null ? List.copyOf(files.values()) : null;
  }

  /** Returns those of the decoded paths that may be live in the view. The others are not. */
  synchronized List<String> maybeLive(TableView view, Collection<String> keys) throws IOException {
    return reaches(view)
        ? keys.stream().filter(key -> plain.contains(hash(key)) || everEncoded.contains(hash(key))).toList()
        : List.copyOf(keys);
  }

  /** Returns the view's commits from a version on, oldest first, or null when not all of them are remembered. */
  synchronized List<Entry> commits(TableView view, long first) throws IOException {
    if (!reaches(view)) {
      return null;
    }
    List<Entry> found = recent.stream().filter(entry -> entry.version() >= first).toList();
    return found.size() == Math.max(version - first + 1, 0) ? found : null;
  }

  /** Adds a commit that was made directly on the view, without reading it back. */
  synchronized void committed(TableView view, LoggedCommit commit) {
    if (begun && version == commit.version() - 1 && version == view.snapshot().version()) {
      fold(view, commit);
    }
  }

  /** Brings the index to the view's version. Returns false when it is past it. */
  private boolean reaches(TableView view) throws IOException {
    long wanted = view.snapshot().version();
    if (begun && wanted < version) {
      return false;
    }
    if (!begun || wanted - version > READ_SINGLY || !isKnown(view)) {
      begin(view);
    }
    while (version < wanted) {
      LoggedCommit commit = LoggedCommit.read(view, version + 1, files != null);
      if (commit == null || commit.unclear() != null) {
        // Log cleanup has removed commits since the version of the index, or only Delta knows what it makes of them.
        beginByDelta(view);
      } else {
        fold(view, commit);
      }
    }
    return true;
  }

  /** Whether the view's checkpoint adds nothing to the commits: it is of this process, or was read. */
  private boolean isKnown(TableView view) {
    String now = Checkpoints.identity(view.snapshot());
    if (Checkpoints.wrote(view.log(), now)) {
      checkpoints.add(now);
    }
    return checkpoints.contains(now);
  }

  private void begin(TableView view) {
    clear();
    checkpoints.add(Checkpoints.identity(view.snapshot()));
    boolean isWholeLog = view.snapshot().version() < READ_SINGLY && view.snapshot().logSegment().checkpointProvider().isEmpty();
    if (!isWholeLog) {
      beginByDelta(view);
    }
    begun = true;
  }

  private void beginByDelta(TableView view) {
    clear();
    checkpoints.add(Checkpoints.identity(view.snapshot()));
    CollectionConverters.asJava(view.snapshot().transactions()).forEach((app, last) -> txns.put(app, (Long) last));
    String root = view.root().toString();
    var live = view.snapshot().allFiles();
    if (filesWanted || view.snapshot().numOfFiles() <= FEW) {
      live.toLocalIterator().forEachRemaining(file -> files.put(new LiveFile(file).id(), new LiveFile(file)));
      files.keySet().forEach(file -> addLive(root, file));
    } else {
      files = null;
      live.toDF().selectExpr("path", VECTOR).toLocalIterator()
          .forEachRemaining(file -> addLive(root, new FileId(file.getString(0), file.getString(1))));
    }
    version = view.snapshot().version();
  }

  private void clear() {
    version = -1;
    txns.clear();
    recent.clear();
    plain.clear();
    encoded.clear();
    everEncoded.clear();
    outside.clear();
    checkpoints.clear();
    files = new HashMap<>();
  }

  private void fold(TableView view, LoggedCommit commit) {
    String root = view.root().toString();
    commit.removed().forEach(file -> remove(root, file));
    commit.added().forEach(file -> add(root, file));
    if (files == null || commit.files() == null || (!filesWanted && files.size() + commit.files().size() > FEW)) {
      files = null;
    } else {
      commit.removed().forEach(files::remove);
      commit.files().forEach(file -> files.put(file.id(), file));
    }
    txns.putAll(commit.txns());
    recent.addLast(commit.entry());
    if (recent.size() > REMEMBERED) {
      recent.removeFirst();
    }
    version = commit.version();
  }

  /** Adds a file of a snapshot. A commit that names a file which is not below the table is unclear, and not added here. */
  private void addLive(String root, FileId file) {
    if (LogPath.leaves(root, file.path())) {
      outside.add(file);
    }
    add(root, file);
  }

  private void add(String root, FileId file) {
    String key = LogPath.key(root, file.path());
    if (isPlain(key, file)) {
      plain.add(hash(key));
    } else {
      encoded.add(hash(file.toString()));
      // Never unmarked: the same file may still be live under another spelling, or with another vector.
      everEncoded.add(hash(key));
    }
  }

  private void remove(String root, FileId file) {
    if (isPlain(LogPath.key(root, file.path()), file)) {
      plain.remove(hash(file.path()));
    } else {
      encoded.remove(hash(file.toString()));
    }
  }

  private static boolean isPlain(String key, FileId file) {
    return file.vector() == null && key.equals(file.path());
  }

  /** FNV-1a over the characters. */
  private static long hash(String text) {
    long hash = FNV_BASIS;
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * FNV_PRIME;
    }
    return hash;
  }
}
