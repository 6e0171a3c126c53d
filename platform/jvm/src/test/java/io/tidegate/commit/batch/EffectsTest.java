package io.tidegate.commit.batch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.tidegate.Json;
import io.tidegate.TestTable;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.TableView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The effects of a batch, checked together against a table. */
class EffectsTest {
  @TempDir Path folder;
  Metadata withId;

  @BeforeEach
  void table() {
    TestTable.spark();
    withId = TableMetadata.of(StructType.fromDDL("id bigint"), List.of(), Map.of(), "t");
  }

  /** A table without live files. */
  private Target target(Metadata metadata) {
    TableView view = TableView.open(TestTable.spark(), new TestTable(folder).uri());
    return new Target(view, metadata, LiveEntries.find(TestTable.spark(), view, List.of()), false);
  }

  private static Removes removes(int count) {
    return new Removes("s3a://b/t", IntStream.range(0, count).mapToObj(i -> new BatchFile.Remove("f" + i, null)).toList());
  }

  private static Evolution evolution(String base) {
    var columns = StructType.fromDDL(base);
    return new Evolution(
        new BatchFile.Evolve(Json.treeOrNull(columns.json()), Json.treeOrNull(columns.add("v", "string").json()), Map.of()));
  }

  @Test
  void problemsOfABatchAreOneLineOfAtMostFive() throws IOException {
    assertNull(new Effects(List.of(removes(0))).whyVoid(target(withId)));
    String reason = new Effects(List.of(removes(4), removes(3))).whyVoid(target(withId));
    assertEquals(
        "f0 without deletion vector is not live; f1 without deletion vector is not live; f2 without deletion vector is"
            + " not live; f3 without deletion vector is not live; f0 without deletion vector is not live; and 2 more",
        reason);
  }

  @Test
  void effectsAfterWrongColumnsAreNotChecked() throws IOException {
    String changed = "another writer has changed the table's columns meanwhile";
    assertEquals(changed, new Effects(List.of(evolution("a int"), removes(1))).whyVoid(target(withId)));
    assertEquals(
        "f0 without deletion vector is not live",
        new Effects(List.of(evolution("id bigint"), removes(1))).whyVoid(target(withId)));
  }

  @Test
  void eachEffectBuildsOnTheOnesBefore() {
    Metadata after = new Effects(List.of(evolution("id bigint"), removes(1))).apply(withId);
    assertEquals(List.of("id", "v"), List.of(after.schema().fieldNames()));
    assertEquals(withId, new Effects(List.of(evolution("id bigint"))).applyVoid(withId));
  }
}
