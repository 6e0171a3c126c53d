package io.tidegate.load.infer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** The columns of JSON lines fit all rows. */
class JsonInferenceTest {
  private static String inferred(String... lines) {
    Stream<InternalRow> rows =
        Stream.of(lines).map(line -> new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
    StructType columns = JsonInference.columns(rows.iterator(), 3);
    return columns.toDDL().toLowerCase(java.util.Locale.ROOT);
  }

  @Test
  void columnsComeFromAllObjects() {
    assertEquals("a bigint,b double,c string", inferred("{\"b\": 1}", "", "{\"a\": 1, \"b\": 1.5}", "{\"c\": \"x\"}"));
  }

  @Test
  void anAlwaysNullFieldHasNoType() {
    assertEquals("a bigint", inferred("{\"a\": 1, \"b\": null, \"c\": {\"d\": null}, \"e\": []}"));
  }

  @Test
  void aDoubleThatWouldChangeANumberIsText() {
    assertEquals("a string,b bigint,c double", inferred("{\"a\": 12345678901234567, \"b\": 12345678901234567, \"c\": 1}", "{\"a\": 0.5, \"c\": 0.1}"));
    assertEquals("a string", inferred("{\"a\": 0.33333333333333333333}"));
    assertEquals("a double", inferred("{\"a\": 0.3333333333333333}"));
  }

  @Test
  void numbersThatDoublesWouldChangeAreTextAtEveryDepth() {
    assertEquals(
        "a struct<b: array<string>, c: double>",
        inferred("{\"a\": {\"b\": [0.5, 0.33333333333333333333], \"c\": 0.25}}"));
    // A field of that name elsewhere keeps its type.
    assertEquals(
        "a struct<x: double>,x string", inferred("{\"a\": {\"x\": 0.5}, \"x\": 0.33333333333333333333}"));
  }

  @Test
  void aRefusedRowAddsNoColumns() {
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"a\": 1, \"b\": 2, \"b\": 3}"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"b\": {\"c\": {\"d\": {\"e\": {}}}}}"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"b\": ", "id,name"));
    assertEquals("", inferred("1", "[]", "id,name"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "[1]", "[{\"b\": 1}]", "7", "\"x\"", "null"));
    assertEquals("a bigint", inferred("[1]", "[{\"b\": 1}]", "7", "{\"a\": 1}"));
  }
}
