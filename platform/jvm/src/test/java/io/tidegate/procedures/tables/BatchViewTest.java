package io.tidegate.procedures.tables;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidegate.TestTable;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** batch_view and live_view: the rows that silver reads of a registered table. */
class BatchViewTest {
  private static final List<String> NAMES = List.of("%C3%BC%20100%25+.parquet", "k=1/a.parquet", "c~d.parquet");
  @TempDir Path folder;
  SparkSession spark;
  TestTable t;

  @BeforeEach
  void table() {
    spark = TestTable.spark();
    t = new TestTable(folder);
    List<Map<String, Object>> files = new ArrayList<>();
    for (int i = 0; i < NAMES.size(); i++) {
      Map<String, Object> file = t.file(URI.create(NAMES.get(i)).getPath(), 10 * i, 10 * i + 3);
      file.put("path", NAMES.get(i));
      files.add(file);
    }
    t.addFiles(t.batch(1, -1, files, TestTable.creates()));
  }

  private String missing(Map<Long, List<String>> batches) {
    String listed =
        batches.entrySet().stream()
            .map(b -> "{\"n\":" + b.getKey() + ",\"paths\":[\"" + String.join("\",\"", b.getValue()) + "\"]}")
            .collect(Collectors.joining(",", "[", "]"));
    return spark.sql("CALL tidegate.system.batch_view(table => '" + t.uri() + "', batches => '"
        + listed + "', view => 'changes')").collectAsList().get(0).getString(0);
  }

  private Map<Long, Long> ids() {
    return spark.table("changes").collectAsList().stream()
        .collect(Collectors.toMap(row -> row.<Long>getAs("id"), row -> row.<Long>getAs("_tidegate_n")));
  }

  @Test
  void eachRowHasItsBatchNumber() {
    assertEquals("[]", missing(Map.of(4L, NAMES.subList(0, 1), 7L, NAMES.subList(1, 3))));
    assertEquals(Map.of(0L, 4L, 1L, 4L, 2L, 4L, 10L, 7L, 11L, 7L, 12L, 7L, 20L, 7L, 21L, 7L, 22L, 7L).entrySet(),
        ids().entrySet());
    missing(Map.of(4L, NAMES, 7L, NAMES.subList(0, 2), 5L, NAMES.subList(0, 1)));
    assertEquals(Map.of(0L, 7L, 10L, 7L, 20L, 4L), Map.of(0L, ids().get(0L), 10L, ids().get(10L), 20L, ids().get(20L)));
  }

  @Test
  void filesThatAreNotLiveAreNamedAndLeftOut() {
    assertEquals("[\"gone.parquet\"]", missing(Map.of(9L, List.of("gone.parquet", NAMES.get(2)))));
    assertEquals(List.of(9L, 9L, 9L), List.copyOf(ids().values()));
    assertEquals("[]", missing(Map.of()));
    assertEquals(Map.of(), ids());
  }

  @Test
  void thePlanDoesNotGrowWithTheBatches() {
    missing(LongStream.range(1, 3).boxed().collect(Collectors.toMap(n -> n, n -> NAMES)));
    int few = length();
    missing(LongStream.range(1, 20_001).boxed().collect(Collectors.toMap(n -> n, n -> NAMES)));
    assertEquals(few, length());
    assertEquals(20_000L, ids().get(0L));
  }

  private int length() {
    var changes = (org.apache.spark.sql.classic.Dataset<Row>) spark.table("changes");
    return changes.queryExecution().optimizedPlan().treeString().split("\n").length;
  }

  @Test
  void pathsOfLiveFilesAreSpelledAsInTheRows() {
    spark.sql("CALL tidegate.system.live_view(table => '" + t.uri() + "', view => 'live')");
    List<Row> live = spark.table("live").select("_tidegate_path").orderBy("_tidegate_path").collectAsList();
    assertEquals("[[c~d.parquet], [k=1/a.parquet], [ü 100%+.parquet]]",
        spark.table("live").select("_tidegate_key").orderBy("_tidegate_key").collectAsList().toString());
    assertEquals(3, live.size());
    assertEquals(
        live,
        spark.read().format("delta").load(t.uri())
            .select("_metadata.file_path").distinct().orderBy("file_path").collectAsList());
  }

  @Test
  void filesAreOrderedByTheEndsOfTheirPaths() {
    missing(Map.of(1L, NAMES));
    assertEquals(List.of("c~d.parquet", "k=1/a.parquet", "ü%20100%25+.parquet"), ends());
    missing(Map.of(1L, NAMES.subList(0, 1), 2L, NAMES.subList(1, 3)));
    assertEquals(List.of("c~d.parquet", "k=1/a.parquet", "ü%20100%25+.parquet"), ends());
    missing(Map.of(1L, NAMES.subList(2, 3)));
    assertEquals(List.of(""), ends());
  }

  private List<String> ends() {
    return spark.table("changes").select("_tidegate_path").distinct().orderBy("_tidegate_path").collectAsList().stream()
        .map(row -> new String(row.<byte[]>getAs(0), UTF_8))
        .toList();
  }
}
