package io.tidegate.load.infer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidegate.load.csv.CsvLines;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.values.Cell;
import java.time.ZoneOffset;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The types that are inferred for the cells of CSV. */
class CsvTypesTest {
  private static CsvLines lines() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, null);
    LoadRequest.Group group = new LoadRequest.Group("csv_lines", List.of("a", "b"), List.of(), csv, null, null, null, false, List.of());
    return new CsvLines(group, StructType.fromDDL("a string, b string"), new String[0], ZoneOffset.UTC, false);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1|2|long", "1|2.5|double", "true|FALSE|boolean", "2026-01-02|2026-01-02 03:04|timestamp",
        "2026-01-02|2026-12-31|date", "00123|1|string", "-0|1|string", "1|x|string", "1||long", "||string",
        "123456789012345678|1|long", "123456789012345678|1.5|string", "1.5|2.|string", "+1|1|string",
        "99999999999999999999|1|string", "99999999999999999|1.5|string", "99999999999999984|1.5|double",
        ".0220994|0.5|double", "-.5|1|double", ".|1|string", "-.|1|string", ".e5|1|string", "0.12345678901234567|1|string", "0.30000000000000004|1|double"
      })
  void theNarrowestTypeThatHoldsEveryCell(String first, String second, String type) {
    CsvTypes types = new CsvTypes(1);
    Cell[] rules = CsvTypes.rules("UTC");
    CsvLines reader = lines();
    for (String cell : new String[] {first, second}) {
      String line = (cell == null ? "" : cell) + ",x";
      reader.read(new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
      types.add(reader, rules);
    }
    assertEquals(List.of(type), types.names());
  }
}
