package io.tidegate.delta;

import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.fs.Path;

/**
 * Paths as a Delta log writes them: URI-encoded, relative to the table or absolute.
 *
 * <p>One file can be spelled in several ways ({@code é}, {@code %C3%A9}, absolute). Delta compares spellings, and would
 * have two live entries of one file, with every row twice. Tidegate compares decoded paths.
 */
public final class LogPath {
  private LogPath() {}

  /** Returns the decoded path below {@code table}, or the path itself when it is elsewhere or not a URI. */
  public static String key(String table, String logged) {
    URI uri;
    try {
      uri = new URI(logged);
    } catch (URISyntaxException e) {
      return logged;
    }
    if (uri.getPath() == null) {
      return logged;
    }
    if (!uri.isAbsolute() && !uri.getPath().startsWith("/")) {
      return uri.getPath();
    }
    URI root = new Path(table).toUri();
    String below = root.getPath().endsWith("/") ? root.getPath() : root.getPath() + "/";
    boolean sameStore = !uri.isAbsolute() || authority(uri).equals(authority(root));
    boolean inside = sameStore && uri.getPath().startsWith(below);
    return inside ? uri.getPath().substring(below.length()) : logged;
  }

  /**
   * Whether the state of a table has {@code logged} as it is. Delta makes {@code a/b} of {@code a//b} and {@code ./a/b},
   * other readers do not; and it reads nothing where a path is not a URI.
   */
  static boolean isKept(String logged) {
    try {
      URI uri = new URI(logged);
      Path path = new Path(uri);
      return !uri.isOpaque() && !path.isAbsoluteAndSchemeAuthorityNull() && path.toUri().toString().equals(logged);
    } catch (URISyntaxException | IllegalArgumentException e) {
      return false;
    }
  }

  /**
   * Returns why {@code path} may not be added to a log, or null: it must be relative, a URI, and in its only spelling.
   */
  public static String problem(String path) {
    try {
      URI uri = new URI(path);
      if (uri.isAbsolute() || path.startsWith("/") || path.isEmpty()) {
        return "is not relative to the table";
      }
      if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
        return "holds a bare ? or #; they must be percent-encoded";
      }
      // Delta normalizes paths when it reads them: a//b would come back as a/b, another object.
      return uri.normalize().toString().equals(path) && !path.startsWith("../")
          ? null
          : "has an empty, . or .. segment, which no Delta reader resolves to that object";
    } catch (URISyntaxException e) {
      return "is not a valid URI: " + e.getReason();
    }
  }

  /**
   * Returns whether {@code logged} names a file that is not below {@code table}. Such an entry shows the readers of the
   * table what is stored elsewhere. What is not a URI is not a file for any reader.
   */
  public static boolean leaves(String table, String logged) {
    if (isBelow(logged)) {
      return false;
    }
    String key = key(table, logged);
    boolean absolute = key.equals(logged) && isAbsolute(logged);
    return absolute || logged.startsWith("//") || ("/" + key + "/").contains("/../");
  }

  /** Whether a path is certainly below its table. Most are, and to parse each as a URI takes long. */
  private static boolean isBelow(String logged) {
    return !logged.startsWith("/") && logged.indexOf(':') < 0 && logged.indexOf('%') < 0 && !logged.contains("..");
  }

  private static boolean isAbsolute(String logged) {
    try {
      return new URI(logged).isAbsolute() || logged.startsWith("/");
    } catch (URISyntaxException e) {
      return false;
    }
  }

  /** Returns the file that {@code logged} names in the table at {@code root}. */
  public static Path resolve(Path root, String logged) {
    return new Path(root, new Path(URI.create(logged)));
  }

  /**
   * Returns the spelling of {@code _metadata.file_path} for the file that {@code logged} names in the table at
   * {@code root}.
   */
  public static String inMetadata(Path root, String logged) {
    return resolve(root, logged).toUri().toString();
  }

  private static String authority(URI uri) {
    String scheme = uri.getScheme() == null ? "" : uri.getScheme();
    // s3, s3a and s3n name the same store.
    return (scheme.startsWith("s3") ? "s3" : scheme) + ":" + (uri.getAuthority() == null ? "" : uri.getAuthority());
  }
}
