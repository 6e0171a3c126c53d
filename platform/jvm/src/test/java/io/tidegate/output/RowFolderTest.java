package io.tidegate.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The folder of a row is the layout with the row's values, each spelled as in the row and escaped as Hive does. */
class RowFolderTest {
  private static FolderLayout.Part text(String text) {
    return new FolderLayout.Part(text, null, null, null);
  }

  private static FolderLayout.Part field(String form, String... names) {
    return new FolderLayout.Part(null, List.of(names), null, form);
  }

  private static String folder(String row, FolderLayout.Part... parts) throws IOException {
    RowFolder folder = new RowFolder(new FolderLayout(List.of(parts)));
    try (JsonParser parser = new JsonFactory().createParser(row)) {
      parser.nextToken();
      folder.read(parser);
    }
    return folder.name(Map.of("type", "a/b"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "{\"v\": \"plain\"} | plain",
        "{\"v\": 1.50} | 1.50",
        "{\"v\": 12345678901234567890.10} | 12345678901234567890.10",
        "{\"v\": -1E+400} | -1E+400",
        "{\"v\": true} | true",
        "{\"v\": \"a=b/c d:e%\"} | a%3Db%2Fc d%3Ae%25",
        "{\"v\": \"\\u0001\"} | %01",
        "{\"v\": \"é\"} | é",
        "{\"v\": \"..\"} | %2E%2E",
        "{\"v\": \"..a\"} | ..a",
        "{\"v\": 1, \"v\": 2} | 2",
        "{\"v\": 1, \"v\": null} | __HIVE_DEFAULT_PARTITION__",
        "{\"v\": {\"v\": 1}} | __HIVE_DEFAULT_PARTITION__",
        "{\"v\": [1]} | __HIVE_DEFAULT_PARTITION__",
        "{\"v\": \"\"} | __HIVE_DEFAULT_PARTITION__",
        "{\"w\": {\"v\": 1}, \"V\": 2} | __HIVE_DEFAULT_PARTITION__",
        "{} | __HIVE_DEFAULT_PARTITION__",
      })
  void aValueIsSpelledAsInTheRow(String row, String expected) throws IOException {
    assertEquals("v=" + expected, folder(row, text("v="), field(null, "v")));
  }

  @Test
  void aValueMayBeInsideObjectsAndInTheKey() throws IOException {
    FolderLayout.Part key = new FolderLayout.Part(null, null, "type", null);
    String row = "{\"a\": {\"x\": {\"b\": 0}, \"b\": {\"c\": 3}}, \"b\": 4}";
    assertEquals("a%2Fb/3/4", folder(row, key, text("/"), field(null, "a", "b", "c"), text("/"), field(null, "b")));
  }

  @Test
  void theLastOfTwoObjectsWithOneNameCounts() throws IOException {
    assertEquals(RowFolder.NO_VALUE, folder("{\"a\": {\"b\": 1}, \"a\": {\"c\": 2}}", field(null, "a", "b")));
  }

  @ParameterizedTest
  @CsvSource({
    "2026-01-31T23:30:00-01:00, 2026-02-01 2026 02 01 00",
    "2026-01-31T23:30:00.123456Z, 2026-01-31 2026 01 31 23",
    "2026-01-31 23:30:00, 2026-01-31 2026 01 31 23",
    "2026-01-31T23:30, 2026-01-31 2026 01 31 23",
    "2026-01-01T00:30:00+0530, 2025-12-31 2025 12 31 19",
    "2026-01-31, 2026-01-31 2026 01 31 -",
    "2016-12-31T23:59:60Z, 2016-12-31 2016 12 31 23",
    "9999-12-31T23:30:00Z, 9999-12-31 9999 12 31 23",
    "9999-12-31T23:30:00-01:00, - - - - -",
    "0000-01-01T00:30:00+01:00, - - - - -",
    "2026-02-30T00:00:00Z, - - - - -",
    "2026-01-31T24:30:00Z, - - - - -",
    "31.01.2026, - - - - -",
    "1767225600, - - - - -",
  })
  void aPieceOfATimestampIsInUtc(String text, String pieces) throws IOException {
    String[] expected = pieces.split(" ");
    String[] forms = {"date", "year", "month", "day", "hour"};
    for (int i = 0; i < forms.length; i++) {
      String wanted = expected[i].equals("-") ? RowFolder.NO_VALUE : expected[i];
      assertEquals(wanted, folder("{\"at\": \"" + text + "\"}", field(forms[i], "at")), forms[i]);
    }
  }

  @Test
  void noValuesLeadToAnotherFolderHoweverTheLayoutPutsThemTogether() throws IOException {
    FolderLayout.Part a = field(null, "a");
    FolderLayout.Part b = field(null, "b");
    List<List<FolderLayout.Part>> layouts =
        List.of(
            List.of(a, text("/")), List.of(a, b, text("/")), List.of(a, text("./")), List.of(text("."), a, text("/")),
            List.of(text("x/."), a, text("/"), b, text("/")), List.of(a, a, text("/x")), List.of(text("x/"), a, b));
    List<String> values = List.of(".", "..", "", "/", "./", "../", "%2E", "%", "\\u002e", "\\u0000", "a");
    for (List<FolderLayout.Part> layout : layouts) {
      for (String first : values) {
        for (String second : values) {
          String row = "{\"a\": \"" + first + "\", \"b\": \"" + second + "\"}";
          for (String segment : folder(row, layout.toArray(new FolderLayout.Part[0])).split("/", -1)) {
            assertFalse(segment.equals(".") || segment.equals(".."), row + layout);
          }
        }
      }
    }
  }

  @Test
  void aFolderIsNoLongerThanAKeyMayBe() throws IOException {
    assertEquals(800, folder("{\"v\": \"" + "a".repeat(800) + "\"}", field(null, "v")).length());
    assertNull(folder("{\"v\": \"" + "a".repeat(801) + "\"}", field(null, "v")));
    assertNull(folder("{\"v\": \"" + "é".repeat(401) + "\"}", field(null, "v")));
    assertNull(folder("{\"v\": \"" + "/".repeat(300) + "\"}", field(null, "v")));
  }
}
