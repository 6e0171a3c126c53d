package io.tidegate.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.ledger.MemoryFile;
import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Delta's statistics of rows that were written without Spark. */
class RowFileTest {
  @Test
  void aReasonHasNoStatisticsInTheLog() throws IOException {
    StructType schema = StructType.fromDDL("key string, reason string, n bigint");
    String rows = "[{\"key\": \"a\", \"reason\": \"why\", \"n\": 1}, {\"key\": \"b\", \"n\": 2}]";
    RowFile written = RowFile.write(new MemoryFile(), schema, Json.treeOrNull(rows));
    assertEquals(
        Map.of(
            "numRecords", 2L,
            "minValues", Map.of("key", "a", "n", 1L),
            "maxValues", Map.of("key", "b", "n", 2L),
            "nullCount", Map.of("key", 0L, "reason", 1L, "n", 0L)),
        written.statistics());
  }

  /** A number that is not the column's is an error, and never another number. */
  @Test
  void everyNumberIsReadExactlyOrRefused() {
    StructType schema = StructType.fromDDL("key string, n bigint, i int, at timestamp");
    BigInteger long63 = BigInteger.ONE.shiftLeft(63);
    List<BigInteger> bounds = new ArrayList<>(List.of(BigInteger.ZERO, BigInteger.TEN.pow(999), BigInteger.TEN.pow(4000)));
    for (int shift : new int[] {31, 32, 63, 64}) {
      for (int add = -1; add < 2; add++) {
        BigInteger bound = BigInteger.ONE.shiftLeft(shift).add(BigInteger.valueOf(add));
        bounds.add(bound);
        bounds.add(bound.negate());
      }
    }
    for (BigInteger bound : bounds) {
      for (String column : List.of("n", "i", "at", "key")) {
        JsonNode row = Json.treeOfAnySizeOrNull("{\"" + column + "\": " + bound + "}");
        boolean fits =
            switch (column) {
              case "key" -> false;
              case "i" -> bound.bitLength() < 32;
              default -> bound.bitLength() < 64;
            };
        String problem = RowFile.problem(schema, row);
        assertEquals(fits, problem == null, column + " " + bound);
        assertTrue(fits || problem.length() < 200, problem);
      }
    }
    for (String value : List.of("1.0", "1.5", "1e3", "true", "\"1\"", "[]", "{}")) {
      assertTrue(RowFile.problem(schema, Json.treeOrNull("{\"n\": " + value + "}")).contains("column n is BIGINT"), value);
    }
    assertEquals(
        Arrays.asList(null, "a row has column z, which the table lacks; leave it out."),
        RowAppend.problems(schema, "[{\"key\": \"a\", \"n\": null}, {\"z\": 1}]"));
  }
}
