package io.tidegate.append;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidegate.Json;
import io.tidegate.ledger.MemoryFile;
import java.io.IOException;
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
}
