package io.tidegate.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The catalog lists its procedures by their SQL names. */
class TidegateCatalogTest {
  @Test
  void theCatalogNamesItsProcedures() {
    var error = assertThrows(Exception.class, () -> TestTable.spark().sql("CALL tidegate.system.nothing()"));
    assertTrue(error.getCause().getMessage().contains("tidegate.system.add_files"), error.toString());
    List<String> names =
        TestTable.spark().sql("SHOW PROCEDURES IN tidegate.system").collectAsList().stream()
            .map(row -> row.<String>getAs("procedure_name"))
            .toList();
    assertTrue(names.containsAll(List.of("table_state", "stage_files", "live_files", "add_files")), names.toString());
  }

  @Test
  void eachClassHasTheSqlNameOfItsProcedure() {
    for (var procedure : Procedures.ALL) {
      String camel =
          Arrays.stream(procedure.name().split("_"))
              .map(word -> word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1))
              .collect(Collectors.joining());
      assertEquals(camel + "Procedure", procedure.getClass().getSimpleName());
    }
  }
}
