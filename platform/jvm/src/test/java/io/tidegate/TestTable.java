package io.tidegate;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A table in a temporary folder, the batches for it, and the procedures called as a user calls them. */
public final class TestTable {
  public static final String LAKE = "lake-1";
  public static final String KEY = "landing.t";
  public static final String SCHEMA =
      "{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}";

  private static final Map<String, byte[]> PARQUET = new ConcurrentHashMap<>();
  private static SparkSession spark;

  public final Path root;
  public final Path batches;
  public String generation = "gen-1";

  public TestTable(Path folder) {
    this.root = folder.resolve("table");
    this.batches = folder.resolve("batches");
    try {
      Files.createDirectories(root);
      Files.createDirectories(batches);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One session for all tests, because starting a session takes most of their time. */
  public static synchronized SparkSession spark() {
    if (spark == null) {
      spark =
          SparkSession.builder()
              .master("local[2]")
              .config("spark.ui.enabled", "false")
              .config("spark.sql.shuffle.partitions", "1")
              .config("spark.sql.adaptive.enabled", "false")
              .config("spark.sql.codegen.wholeStage", "false")
              .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
              .config("spark.sql.ui.explainMode", "simple")
              .config("spark.databricks.delta.snapshotPartitions", "1")
              .config("spark.databricks.delta.writeChecksumFile.enabled", "false")
              .config("spark.databricks.delta.allFilesInCrc.enabled", "false")
              .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
              .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
              .config("spark.sql.catalog.tidegate", "io.tidegate.spark.TidegateCatalog")
              .config("spark.sql.warehouse.dir", System.getProperty("java.io.tmpdir"))
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.driver.host", "127.0.0.1")
              .getOrCreate();
    }
    return spark;
  }

  public String uri() {
    return root.toUri().toString().replaceFirst("/$", "");
  }

  public String appId() {
    return "tidegate:" + LAKE + ":" + KEY + ":" + generation;
  }

  /** Writes a Parquet file with the ids [from, to) at {@code path} in the table. Returns its add entry. */
  public Map<String, Object> file(String path, long from, long to) {
    try {
      Path target = root.resolve(path);
      Files.createDirectories(target.getParent());
      Files.write(target, PARQUET.computeIfAbsent(from + "-" + to, ids -> parquet(from, to)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return add(path, from, to);
  }

  /** Writes a Parquet file with the one row of a query at {@code path} in the table. Returns its add entry. */
  public Map<String, Object> file(String path, String query) {
    try {
      Files.write(root.resolve(path), parquet(spark().sql(query)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return add(path, 0, 1);
  }

  private static byte[] parquet(long from, long to) {
    return parquet(spark().range(from, to, 1, 1).toDF());
  }

  private static byte[] parquet(Dataset<Row> rows) {
    try {
      Path folder = Files.createTempDirectory("parquet");
      rows.coalesce(1).write().mode("overwrite").parquet(folder.toString());
      try (var files = Files.list(folder)) {
        Path part = files.filter(f -> f.getFileName().toString().endsWith(".parquet")).findFirst().orElseThrow();
        return Files.readAllBytes(part);
      } finally {
        delete(folder);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Map<String, Object> add(String path, long from, long to) {
    Map<String, Object> add = new LinkedHashMap<>();
    add.put("path", path);
    add.put("partition_values", new HashMap<>());
    try {
      add.put("size", Files.size(root.resolve(path)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    add.put("modification_time", 1_700_000_000_000L);
    add.put("stats", "{\"numRecords\":" + (to - from) + ",\"minValues\":{\"id\":" + from + "}}");
    add.put("etag", null);
    add.put("source_key", "t/" + path);
    return add;
  }

  /** Writes batch n; {@code changes} replaces fields of it. Returns the object's URI. */
  public String batch(long n, long after, List<Map<String, Object>> adds, Map<String, Object> changes) {
    Map<String, Object> batch = new LinkedHashMap<>();
    batch.put("format", 1);
    batch.put("lake", LAKE);
    batch.put("table", KEY);
    batch.put("generation", generation);
    batch.put("n", n);
    batch.put("digest", "digest-" + n);
    batch.put("location", uri());
    batch.put("app_id", appId());
    batch.put("create", null);
    batch.put("after_version", after);
    batch.put("adds", adds);
    batch.put("removes", List.of());
    batch.put("rows", List.of(Map.of("key", "ignored by the commit")));
    batch.putAll(changes);
    return put(n, Json.write(batch));
  }

  public String put(long n, String content) {
    Path path = batches.resolve("%020d.json".formatted(n));
    try {
      Files.writeString(path, content);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return path.toUri().toString();
  }

  /** The fields of a batch that creates the table. */
  public static Map<String, Object> creates(String schema, List<String> partitions, Map<String, String> properties) {
    Map<String, Object> create = new HashMap<>();
    create.put("schema", Json.read(schema, JsonNode.class, "schema"));
    create.put("partition_columns", partitions);
    create.put("properties", properties);
    create.put("name", "t");
    return Map.of("create", create);
  }

  public static Map<String, Object> creates() {
    return creates(SCHEMA, List.of(), Map.of());
  }

  /** The fields of a batch that gives the table other columns. */
  public static Map<String, Object> evolves(String base, String schema, Map<String, String> properties) {
    return Map.of(
        "evolve",
        Map.of(
            "base", Json.read(base, JsonNode.class, "base"),
            "schema", Json.read(schema, JsonNode.class, "schema"),
            "properties", properties));
  }

  /** Commits batch 1: one file with ids 0..9 at {@code a.parquet}. */
  public Row born() {
    return addFiles(batch(1, -1, List.of(file("a.parquet", 0, 10)), creates()));
  }

  public Row addFiles(String batch) {
    return addFiles(batch, true);
  }

  public Row addFiles(String batch, boolean verify) {
    return spark().sql(
            "CALL tidegate.system.add_files(table => '%s', batch => '%s', verify_files => %s)"
                .formatted(uri(), batch, verify))
        .head();
  }

  public Row state() {
    return spark()
        .sql("CALL tidegate.system.table_state(table => '%s', app_id => '%s')".formatted(uri(), appId()))
        .head();
  }

  public List<Row> live(List<String> paths) {
    return spark()
        .sql("CALL tidegate.system.live_files(table => '%s', paths => '%s')".formatted(uri(), Json.write(paths)))
        .collectAsList();
  }

  /** Stages files. Returns them as add entries of a batch. */
  public List<Map<String, Object>> stage(String query, String schema, List<String> partitions) {
    return stage(query, schema, partitions, Map.of());
  }

  /** As above, for columns that need properties of the table. */
  public List<Map<String, Object>> stage(
      String query, String schema, List<String> partitions, Map<String, String> properties) {
    List<Row> rows =
        spark()
            .sql(
                ("CALL tidegate.system.stage_files(table => '%s', query => '%s', schema => '%s', partition_columns => '%s',"
                    + " properties => '%s')")
                    .formatted(
                        uri(), query.replace("'", "\\'"), schema, Json.write(partitions), Json.write(properties)))
            .collectAsList();
    List<Map<String, Object>> adds = new ArrayList<>();
    for (Row row : rows) {
      JsonNode action = Json.read(row.getString(0), JsonNode.class, "action");
      Map<String, Object> add = new LinkedHashMap<>();
      add.put("path", action.get("path").asText());
      add.put("partition_values", action.get("partitionValues"));
      add.put("size", action.get("size").asLong());
      add.put("modification_time", action.get("modificationTime").asLong());
      add.put("stats", action.get("stats").asText());
      add.put("source_key", null);
      adds.add(add);
    }
    return adds;
  }

  /** A schema of an id and texts. */
  public static String schema(String... names) {
    return schema(false, names);
  }

  /** That schema, with each column mapped to its own name. */
  public static String mapped(String... names) {
    return schema(true, names);
  }

  private static String schema(boolean mapped, String... names) {
    StructType schema = new StructType();
    for (int i = 0; i < names.length; i++) {
      String metadata = "{\"delta.columnMapping.id\":%d,\"delta.columnMapping.physicalName\":\"%s\"}".formatted(i + 1, names[i]);
      schema = schema.add(new StructField(
          names[i],
          names[i].equals("id") ? DataTypes.LongType : DataTypes.StringType,
          true,
          mapped ? Metadata.fromJson(metadata) : Metadata.empty()));
    }
    return schema.json();
  }

  public List<String> columns() {
    return List.of(spark().read().format("delta").load(root.toString()).columns());
  }

  public long where(String condition) {
    return spark().read().format("delta").load(root.toString()).where(condition).count();
  }

  public long count() {
    return spark().read().format("delta").load(root.toString()).count();
  }

  public void sql(String text) {
    spark().sql(text.replace("{t}", "delta.`" + root + "`"));
  }

  public boolean exists(String pathInRoot) {
    return Files.exists(root.resolve(pathInRoot));
  }

  public String voidObject(long n) {
    try {
      return Files.readString(batches.resolve("%020d.void".formatted(n)));
    } catch (IOException e) {
      return null;
    }
  }

  public static void delete(Path path) {
    try (var all = Files.walk(path)) {
      all.sorted(Comparator.reverseOrder()).forEach(f -> f.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
