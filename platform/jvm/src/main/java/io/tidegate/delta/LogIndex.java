package io.tidegate.delta;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.WeakHashMap;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.delta.DeltaLog;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What commits ask about a table most often, kept current by reading only new commits.
 *
 * <p>Delta rebuilds a table's whole state, with Spark jobs, for every version whose transactions or files are asked
 * for: that takes seconds for each commit, and more with every live file. Here a commit costs one read of its file.
 * Paths are kept as 64-bit hashes, about 50 bytes each; so "maybe live" must be confirmed, and "not live" is certain.
 */
public final class LogIndex {
  /** A commit without its files; {@code operation} and {@code userMetadata} are null where its writer gave none. */
  public record Entry(long version, String operation, String userMetadata, Map<String, Long> txns) {}

  private static final Map<DeltaLog, LogIndex> ALL = Collections.synchronizedMap(new WeakHashMap<>());

  /** Commits that are remembered. Older ones are read from the log. */
  private static final int REMEMBERED = 100;

  /** Up to so many commits are read one by one; more are read by Delta. */
  private static final int READ_SINGLY = 50;

  /**
   * The entries of up to so many live files are kept before they are asked for, because reading a log twice costs more.
   */
  private static final int FEW = 1000;

  private static final long FNV_BASIS = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private boolean begun;
  private long version;
  private final Map<String, Long> txns = new HashMap<>();
  private final Deque<Entry> recent = new ArrayDeque<>();
  private final Set<Long> plain = new HashSet<>();
  private final Set<Long> encoded = new HashSet<>();
  private final Set<Long> everEncoded = new HashSet<>();

  /** The live entries whose files are not below the table, as logged. */
  private final Set<String> outside = new TreeSet<>();

  /** The live files by logged path; kept while they are few, or once they were asked for; else null. */
  private Map<String, LiveFile> files;

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
    return outside.isEmpty() ? null : outside.iterator().next();
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
    if (!begun || wanted - version > READ_SINGLY) {
      begin(view);
    }
    while (version < wanted) {
      LoggedCommit commit = LoggedCommit.read(view, version + 1, files != null);
      if (commit == null) {
        // Log cleanup has removed commits since the version of the index.
        beginByDelta(view);
      } else {
        fold(view, commit);
      }
    }
    return true;
  }

  private void begin(TableView view) {
    clear();
    boolean isWholeLog = view.snapshot().version() < READ_SINGLY && view.snapshot().logSegment().checkpointProvider().isEmpty();
    if (!isWholeLog) {
      beginByDelta(view);
    }
    begun = true;
  }

  private void beginByDelta(TableView view) {
    clear();
    CollectionConverters.asJava(view.snapshot().transactions()).forEach((app, last) -> txns.put(app, (Long) last));
    String root = view.root().toString();
    if (filesWanted || view.snapshot().numOfFiles() <= FEW) {
      view.snapshot().allFiles().toLocalIterator().forEachRemaining(file -> files.put(file.path(), new LiveFile(file)));
      files.keySet().forEach(path -> add(root, path));
    } else {
      files = null;
      view.snapshot().allFiles().toDF().select("path").as(Encoders.STRING()).toLocalIterator()
          .forEachRemaining(path -> add(root, path));
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
    files = new HashMap<>();
  }

  private void fold(TableView view, LoggedCommit commit) {
    String root = view.root().toString();
    // A file whose deletion vector changed is removed and added by one commit.
    commit.removed().forEach(path -> remove(root, path));
    commit.added().forEach(path -> add(root, path));
    if (files == null || commit.files() == null || (!filesWanted && files.size() + commit.files().size() > FEW)) {
      files = null;
    } else {
      commit.removed().forEach(files::remove);
      commit.files().forEach(file -> files.put(file.path(), file));
    }
    txns.putAll(commit.txns());
    recent.addLast(commit.entry());
    if (recent.size() > REMEMBERED) {
      recent.removeFirst();
    }
    version = commit.version();
  }

  private void add(String root, String logged) {
    String key = LogPath.key(root, logged);
    if (LogPath.leaves(root, logged)) {
      outside.add(logged);
    }
    if (key.equals(logged)) {
      plain.add(hash(key));
    } else {
      encoded.add(hash(logged));
      // Never unmarked: the same file may still be live under another spelling.
      everEncoded.add(hash(key));
    }
  }

  private void remove(String root, String logged) {
    outside.remove(logged);
    (LogPath.key(root, logged).equals(logged) ? plain : encoded).remove(hash(logged));
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
