package io.tidegate.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;

/** The spellings of a table's path under which entries are searched, the table's own first. */
class SpellingsTest {
  @Test
  void theSpellingsAreThoseOfPython() {
    CommitTableFacts.of("spellings").fields().forEachRemaining(each -> {
      List<String> expected = new ArrayList<>();
      each.getValue().forEach(one -> expected.add(one.asText()));
      assertEquals(expected, Spellings.of(new Path(each.getKey())));
    });
  }

  @Test
  void theGivenAddressComesFirst() {
    assertEquals(List.of("s3://b/t", "s3a://b/t"), Spellings.of(new Path("s3://key@b/t")));
    assertEquals(List.of("s3n://b/t", "s3a://b/t", "s3://b/t"), Spellings.of(new Path("s3n://b/t/")));
    assertEquals(List.of("file:///t"), Spellings.of(new Path("file:///t")));
  }
}
