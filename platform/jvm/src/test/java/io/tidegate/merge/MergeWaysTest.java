package io.tidegate.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.delta.tables.DeltaTable;
import io.tidegate.Soak;
import io.tidegate.TestTable;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** merge, with random tables, queries and rows: our merge gives the rows of Delta's MERGE, or is not used. */
class MergeWaysTest {
  /** How the table differs from the query. */
  private enum Odd {
    NOTHING, ORDER_OF_COLUMNS, MANY_ROWS, ORDER_WITHIN, COLUMN, COLUMN_WITHIN, SURPLUS, DEFAULT, WIDER, WIDER_WITHIN,
    NARROWER, NARROWER_WITHIN, GENERATED
  }

  private static final String FAILS = "it fails";
  private static final String LEFT_TO_DELTA = "it is left to Delta";
  /** In place of Delta's MERGE, whose result nobody would look at. */
  private static final String NO_STATEMENT = "no statement";
  private static final DataType[] PLAIN = {
    DataTypes.IntegerType, DataTypes.StringType, DataTypes.DoubleType, DataTypes.DateType, DataTypes.BooleanType
  };

  private static final DataType[] KEYS = {
    DataTypes.IntegerType, DataTypes.StringType, DataTypes.DateType, DataTypes.DoubleType, DataTypes.BinaryType,
    DataTypes.TimestampType, DataTypes.createDecimalType(10, 2)
  };

  /** Rounds in which our merge is used, and those in which it must not be. */
  private static final int ROUNDS = Soak.courses(2, 20), ROUNDS_LEFT = Soak.courses(1, 20);
  private static final Set<Odd> OURS = Set.of(Odd.NOTHING, Odd.ORDER_OF_COLUMNS);

  @TempDir Path folder;
  private final SparkSession spark = TestTable.spark();
  private final Random random = new Random(20261124);

  @Test
  void ourMergeEqualsDeltasOrIsNotUsed() throws Exception {
    List<Odd> taken = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      for (Odd odd : Odd.values()) {
        boolean isDue = round < (OURS.contains(odd) ? ROUNDS : ROUNDS_LEFT);
        if (isDue && tried(folder.resolve(odd.name() + round), odd, (round + odd.ordinal()) % 2 == 0)) {
          taken.add(odd);
        }
      }
    }
    assertEquals(ROUNDS * OURS.size(), taken.size());
    assertEquals(OURS, Set.copyOf(taken));
  }

  /**
   * Merges rows into a table that has a NULL key. Returns whether ours was used; then Delta's must change a copy equally.
   *
   * @param hasNull whether one of the rows has a NULL key as well
   */
  private boolean tried(Path place, Odd odd, boolean hasNull) throws Exception {
    StructType query = columns();
    StructType table = altered(query, odd);
    Path one = place.resolve("ours");
    if (odd == Odd.GENERATED) {
      DeltaTable.create(spark).location(one.toString()).addColumns(table)
          .addColumn(DeltaTable.columnBuilder(spark, "twice").dataType("INT").generatedAlwaysAs("at * 2").build())
          .property("delta.enableDeletionVectors", "true").execute();
    }
    spark.createDataFrame(rows(table, 20, true), table).coalesce(1).write().format("delta").mode("append")
        .option("delta.enableDeletionVectors", "true").save(uri(one));
    if (odd == Odd.DEFAULT) {
      sql("ALTER TABLE %s SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')", one);
      sql("ALTER TABLE %s ALTER COLUMN at SET DEFAULT 7", one);
    }
    Path other = place.resolve("deltas");
    copy(one, other);
    spark.createDataFrame(rows(query, 30, hasNull), query).createOrReplaceTempView("given");
    List<String> names = Arrays.asList(query.fieldNames());
    String told = odd + ", table " + table.sql() + ", query " + query.sql();
    long most = odd == Odd.MANY_ROWS ? KeyedMerge.MAX_ROWS + 1 : KeyedMerge.MAX_ROWS;
    String first = merged(one, names, true, most);
    if (first == LEFT_TO_DELTA) {
      return false;
    }
    String second = merged(other, names, false, most);
    assertEquals(second, first, told);
    Set<String> apart = new HashSet<>(read(one));
    read(other).forEach(row -> assertTrue(apart.remove(row), told + ": " + row));
    assertEquals(Set.of(), apart, told);
    return first != FAILS;
  }

  /** The counts that a merge returns, or that it failed, or that ours does not do it. */
  private String merged(Path table, List<String> names, boolean ours, long most) {
    String newer = "s.at > t.at OR (t.at IS NULL AND s.at IS NOT NULL)";
    String assigned = names.stream().map(name -> "t." + name + " = s." + name).collect(Collectors.joining(", "));
    String values = names.stream().map(name -> "s." + name).collect(Collectors.joining(", "));
    String rows = "SELECT " + String.join(", ", names) + " FROM changes";
    String statement = "MERGE INTO delta.`" + uri(table) + "` t USING (" + rows + ") s ON t.id <=> s.id WHEN MATCHED AND ("
        + newer + ") THEN UPDATE SET " + assigned + " WHEN NOT MATCHED THEN INSERT (" + String.join(", ", names)
        + ") VALUES (" + values + ")";
    spark.table("given").createOrReplaceTempView("changes");
    try {
      Row row = spark.sql("CALL tidegate.system.merge(table => '" + uri(table) + "', rows => '" + rows
          + "', keys => '[\"id\"]', newer => '" + (ours ? newer : "") + "', mixed => '', stored => '', hiding => '[]', max_rows => " + most + "L, statement => '" + (ours ? NO_STATEMENT : statement)
          + "', source => 'changes', app_id => 'app', number => 1L, provided => '{}')").collectAsList().get(0);
      return row.get(0) + " inserted, " + row.get(1) + " updated";
    } catch (Exception e) {
      return ours && e.getMessage().contains(NO_STATEMENT) ? LEFT_TO_DELTA : FAILS;
    }
  }

  private List<String> read(Path table) {
    return spark.read().format("delta").load(uri(table))
        .selectExpr("to_json(struct(*), map(\"ignoreNullFields\", \"false\"))").collectAsList().stream()
        .map(row -> row.getString(0)).sorted().toList();
  }

  private static String uri(Path table) {
    return table.toUri().toString().replaceFirst("/$", "");
  }

  private void sql(String statement, Path table) {
    spark.sql(statement.formatted("delta.`" + uri(table) + "`"));
  }

  private static void copy(Path from, Path to) throws Exception {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path path : all.toList()) {
        Files.copy(path, to.resolve(from.relativize(path).toString()));
      }
    }
  }

  private StructType columns() {
    List<StructField> fields = new ArrayList<>();
    fields.add(field("id", one(KEYS)));
    fields.add(field("at", DataTypes.IntegerType));
    fields.add(field("nested", nested()));
    for (int i = random.nextInt(3); i >= 0; i--) {
      fields.add(field("c" + i, random.nextBoolean() ? one(PLAIN) : nested()));
    }
    return new StructType(fields.toArray(StructField[]::new));
  }

  /** A struct with an {@code int} and two fields of one type, alone, in an array or as the values of a map. */
  private DataType nested() {
    DataType same = one(PLAIN);
    DataType inner =
        random.nextInt(3) == 0 ? new StructType(new StructField[] {field("y", same), field("x", same)}) : same;
    StructType struct =
        new StructType(new StructField[] {field("n", DataTypes.IntegerType), field("b", inner), field("a", inner)});
    return switch (random.nextInt(3)) {
      case 0 -> struct;
      case 1 -> DataTypes.createArrayType(struct);
      default -> DataTypes.createMapType(DataTypes.StringType, struct);
    };
  }

  private StructType altered(StructType query, Odd odd) {
    List<StructField> fields = new ArrayList<>(Arrays.asList(query.fields()));
    switch (odd) {
      case ORDER_OF_COLUMNS -> Collections.rotate(fields, 1 + random.nextInt(fields.size() - 1));
      case COLUMN -> fields.add(random.nextInt(fields.size()), field("note", one(PLAIN)));
      case SURPLUS -> fields.removeIf(f -> f.name().equals("c0"));
      case NARROWER -> fields.replaceAll(f -> f.name().equals("at") ? field("at", DataTypes.ShortType) : f);
      case WIDER -> fields.replaceAll(f -> f.name().equals("at") ? field("at", DataTypes.LongType) : f);
      case ORDER_WITHIN, COLUMN_WITHIN, WIDER_WITHIN, NARROWER_WITHIN ->
          fields.replaceAll(f -> f.name().equals("nested") ? field("nested", altered(f.dataType(), odd)) : f);
      default -> { }
    }
    return new StructType(fields.toArray(StructField[]::new));
  }

  private DataType altered(DataType type, Odd odd) {
    if (type instanceof ArrayType array) {
      return DataTypes.createArrayType(altered(array.elementType(), odd));
    }
    if (type instanceof MapType map) {
      return DataTypes.createMapType(map.keyType(), altered(map.valueType(), odd));
    }
    List<StructField> fields = new ArrayList<>(Arrays.asList(((StructType) type).fields()));
    switch (odd) {
      case ORDER_WITHIN -> Collections.swap(fields, 1, 2);
      case COLUMN_WITHIN -> fields.add(field("more", DataTypes.StringType));
      case NARROWER_WITHIN -> fields.set(0, field("n", DataTypes.ShortType));
      default -> fields.set(0, field("n", DataTypes.LongType));
    }
    return new StructType(fields.toArray(StructField[]::new));
  }

  /** Rows with distinct keys, and one of them NULL where wanted. The keys of two such sets overlap. */
  private List<Row> rows(StructType schema, int most, boolean hasNull) {
    List<Integer> keys = new ArrayList<>(IntStream.range(0, most).boxed().toList());
    Collections.shuffle(keys, random);
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      int key = keys.get(i);
      boolean isNull = hasNull && i == 0;
      rows.add(RowFactory.create(Arrays.stream(schema.fields())
          .map(f -> f.name().equals("id") ? (isNull ? null : plain(f.dataType(), key)) : value(f.dataType())).toArray()));
    }
    return rows;
  }

  private Object value(DataType type) {
    if (random.nextInt(6) == 0) {
      return null;
    }
    if (type instanceof StructType struct) {
      return RowFactory.create(Arrays.stream(struct.fields()).map(f -> value(f.dataType())).toArray());
    }
    if (type instanceof ArrayType array) {
      return IntStream.range(0, random.nextInt(3)).mapToObj(i -> value(array.elementType())).toList();
    }
    if (type instanceof MapType map) {
      return IntStream.range(0, random.nextInt(3)).boxed()
          .collect(java.util.HashMap::new, (m, i) -> m.put("k" + i, value(map.valueType())), java.util.HashMap::putAll);
    }
    return plain(type, random.nextInt(20));
  }

  private Object plain(DataType type, int number) {
    return switch (type.typeName()) {
      case "integer" -> number;
      case "long" -> (long) number;
      case "short" -> (short) number;
      // Also the empty text, and texts that differ in a space or a zero byte.
      case "string" -> number == 0 ? "" : "s" + number / 3 + List.of("", " ", "\0").get(number % 3);
      case "binary" -> new byte[] {(byte) number, (byte) 200};
      case "timestamp" -> Instant.parse("0001-01-01T00:00:00Z").plusNanos(number * 1000L);
      case "decimal(10,2)" -> BigDecimal.valueOf(number, 2);
      case "double" -> number == 3 ? Double.NaN : random.nextBoolean() ? -number / 2.0 : number / -2.0;
      // java.sql.Date does not have some of these days.
      case "date" -> LocalDate.of(1582, 9, 30).plusDays(number);
      default -> number % 2 == 0;
    };
  }

  private static StructField field(String name, DataType type) {
    return DataTypes.createStructField(name, type, true);
  }

  private DataType one(DataType... types) {
    return types[random.nextInt(types.length)];
  }
}
