package io.tidegate.storage;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/** Lists the files of a log, from a name on, in the order of their names. */
final class LogListing {
  private static final String LOG = "_delta_log";
  private static final long MILLIS = 1000;
  private static final Pattern COMMIT = Pattern.compile("(\\d{20})\\.json");
  private static final Pattern VERSION = Pattern.compile("(\\d{20})\\b.*");

  private LogListing() {}

  /**
   * Returns the files in the directory of {@code from} with its name or later ones; empty when there is no directory.
   */
  static List<FileStatus> from(FileSystem fs, Path from) throws IOException {
    Path qualified = fs.makeQualified(from);
    List<FileStatus> files = new ArrayList<>();
    if (fs instanceof S3AFileSystem s3) {
      new S3Listing(s3).from(qualified).forEach(file -> files.add(inWholeSeconds(file)));
    } else {
      try {
        for (FileStatus file : fs.listStatus(qualified.getParent())) {
          if (file.getPath().getName().compareTo(from.getName()) >= 0) {
            files.add(file);
          }
        }
      } catch (FileNotFoundException e) {
        return files;
      }
    }
    files.sort(Comparator.comparing(file -> file.getPath().getName()));
    return files;
  }

  /**
   * Cuts a listed time to seconds, like that of a HEAD. With an endpoint that lists milliseconds, Delta would otherwise
   * take the commit that it has just asked for as another file, and read its whole log again.
   */
  private static FileStatus inWholeSeconds(FileStatus file) {
    long seconds = file.getModificationTime() / MILLIS * MILLIS;
    return new FileStatus(file.getLen(), file.isDirectory(), 1, file.getBlockSize(), seconds, file.getPath());
  }

  /** Returns the version of a commit's file; empty for other files. */
  static OptionalLong commitVersion(Path path) {
    Matcher name = COMMIT.matcher(path.getName());
    return name.matches() && isInLog(path) ? OptionalLong.of(Long.parseLong(name.group(1))) : OptionalLong.empty();
  }

  /** Returns the versions whose commit file is among the files. */
  static SortedSet<Long> versions(List<FileStatus> files) {
    SortedSet<Long> versions = new TreeSet<>();
    files.forEach(file -> commitVersion(file.getPath()).ifPresent(versions::add));
    return versions;
  }

  /** Returns the version that a listing starts with; 0 when its name has none. */
  static long firstVersion(Path from) {
    Matcher name = VERSION.matcher(from.getName());
    return name.matches() ? Long.parseLong(name.group(1)) : 0;
  }

  static boolean isInLog(Path path) {
    return path.getParent() != null && path.getParent().getName().equals(LOG);
  }
}
