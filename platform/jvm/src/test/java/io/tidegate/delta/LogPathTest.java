package io.tidegate.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LogPathTest {
  @Test
  void oneFileHasOneKeyInEverySpelling() {
    String root = "s3a://bucket/a b/t";
    assertEquals("m=1/é x.parquet", LogPath.key(root, "m=1/é%20x.parquet"));
    assertEquals("m=1/é x.parquet", LogPath.key(root, "m=1/%C3%A9%20x.parquet"));
    assertEquals("x.parquet", LogPath.key(root, "s3://bucket/a%20b/t/x.parquet"));
    assertEquals("x.parquet", LogPath.key(root, "/a%20b/t/x.parquet"));
    assertEquals("100%25.parquet", LogPath.key(root, "100%2525.parquet"));
    assertEquals("s3://other/a%20b/t/x.parquet", LogPath.key(root, "s3://other/a%20b/t/x.parquet"));
    assertEquals("s3a://bucket/a%20b/tt/x", LogPath.key(root, "s3a://bucket/a%20b/tt/x"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"a.parquet", "m=1/b%20c.parquet", "%C3%A9.parquet", "a%3Ab.parquet", "a%3Fb%23.parquet", "+.parquet", "é.parquet"})
  void pathsThatMayBeAdded(String path) {
    assertNull(LogPath.problem(path));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/a", "s3a://b/a", "a//b", "./a", "a/../b", "../a", "a b", "a?b", "a#b", "100%.parquet"})
  void pathsThatMayNot(String path) {
    assertNotNull(LogPath.problem(path));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "s3a://other/t/x.parquet", "s3://bucket/x.parquet", "s3a://bucket/a%20b/tt/x", "file:/etc/passwd", "/etc/passwd", "//x",
    "../x.parquet", "m=1/../../x.parquet", "%2e%2e/x.parquet", "m=1/..%2F..%2Fx", "..", "s3a://bucket/a%20b/t/../u/x",
    "x:y", "S3A://other/x"
  })
  void pathsOfFilesElsewhereLeaveTheTable(String path) {
    assertTrue(LogPath.leaves("s3a://bucket/a b/t", path));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "x.parquet", "m=1/é%20x.parquet", "a%3Ab.parquet", "..x/y..parquet", "...", "_tidegate/copies/x.parquet",
    "s3://bucket/a%20b/t/x.parquet", "/a%20b/t/x.parquet", "%252e%252e/x.parquet", "100%.parquet"
  })
  void pathsOfItsOwnFilesDoNotLeaveTheTable(String path) {
    assertFalse(LogPath.leaves("s3a://bucket/a b/t", path));
  }

  @Test
  void resolvesToTheDecodedName() {
    assertEquals("/t/m=1/é x?.parquet", LogPath.resolve(new Path("file:/t"), "m=1/%C3%A9%20x%3F.parquet").toUri().getPath());
    assertEquals("/t/a:b", LogPath.resolve(new Path("file:/t"), "a%3Ab").toUri().getPath());
  }
}
