package io.tidegate.storage;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;

/** The spellings of a table's path under which its writers may keep their entries. */
final class Spellings {
  private Spellings() {}

  /**
   * Returns all spellings of a table's path that writers use, its own first: Delta on Spark writes the path as it is,
   * and delta-rs writes it percent-encoded.
   */
  static List<String> of(Path table) {
    URI uri = table.toUri();
    Set<String> schemes = new LinkedHashSet<>(List.of(uri.getScheme()));
    if (isS3(uri.getScheme())) {
      schemes.addAll(List.of("s3a", "s3"));
    }
    Set<String> all = new LinkedHashSet<>();
    for (String path : List.of(uri.getPath(), encoded(uri.getRawPath()))) {
      for (String scheme : schemes) {
        // The host alone: credentials come before an @.
        all.add(scheme + "://" + bucket(uri) + withoutSlash(path));
      }
    }
    return new ArrayList<>(all);
  }

  /** Percent-encodes what a URI keeps and delta-rs encodes: characters beyond ASCII, as UTF-8. */
  private static String encoded(String path) {
    StringBuilder all = new StringBuilder();
    for (byte unit : path.getBytes(StandardCharsets.UTF_8)) {
      all.append(unit < 0 ? "%%%02X".formatted(unit) : String.valueOf((char) unit));
    }
    return all.toString();
  }

  private static boolean isS3(String scheme) {
    return scheme.equals("s3") || scheme.equals("s3a") || scheme.equals("s3n");
  }

  private static String bucket(URI uri) {
    String authority = uri.getAuthority() == null ? "" : uri.getAuthority();
    return authority.substring(authority.indexOf('@') + 1);
  }

  private static String withoutSlash(String path) {
    return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }
}
