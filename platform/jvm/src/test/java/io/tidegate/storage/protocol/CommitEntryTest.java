package io.tidegate.storage.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which items of the DynamoDB table are commits. */
class CommitEntryTest {
  private static final String FILE = CommitEntry.fileName(7);
  private static final String UUID = "0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11";
  private static final List<String> STAGED = List.of(".tmp/" + FILE + "." + UUID, "_commit_" + UUID + ".json.tmp");

  @Test
  void entriesOfEveryLogStoreAreRead() {
    for (String staged : STAGED) {
      assertEquals(new CommitEntry(7, staged, false), CommitEntry.read(FILE, staged, false));
    }
    CommitEntry ours = CommitEntry.prepare(7);
    assertEquals(ours, CommitEntry.read(FILE, ours.tempPath(), false));
  }

  /** What is staged is published and deleted, so the name of any other object is refused, however it is spelled. */
  @Test
  void anEntryThatNamesAnotherObjectIsNone() {
    List<String> others = new ArrayList<>(List.of(
        "", "s3a://lake/lake.json", "/lake.json", "../lake.json", FILE, ".tmp/x", "_last_checkpoint",
        ".tmp/" + CommitEntry.fileName(8) + "." + UUID, ".tmp/" + FILE + ".dead", "tmp/" + FILE + "." + UUID));
    for (String staged : STAGED) {
      for (String added : List.of("/", "../", "s3a://lake/", " ", "%2e%2e/", "\n", "x")) {
        others.add(added + staged);
        others.add(staged + added);
      }
      others.add(staged.replace("-", "/"));
      others.add(staged.replace("4b57", "../."));
    }
    for (String other : others) {
      assertNull(CommitEntry.read(FILE, other, false), other);
    }
    assertNull(CommitEntry.read(FILE, null, false));
  }

  @Test
  void anItemOfAnotherNameIsNone() {
    for (String name : new String[] {null, "", "7.json", "x.json", FILE + "x", "9".repeat(20) + ".json", "../" + FILE}) {
      assertNull(CommitEntry.read(name, STAGED.get(1), true), name);
    }
  }
}
