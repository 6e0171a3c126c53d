package io.tidegate.load.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Which rows, and which texts, are of a suppressed subject. */
public final class SuppressionTest {
  private static final byte[] KEY = "0123456789abcdef".getBytes(StandardCharsets.UTF_8);
  private static final StructType COLUMNS =
      new StructType()
          .add("n", DataTypes.LongType)
          .add("after", new StructType().add("at", DataTypes.DateType).add("id", DataTypes.StringType))
          .add("id", DataTypes.StringType);

  @Test
  void aRowIsOfEachSubjectThatOneOfItsPathsNames() throws Exception {
    Suppression list = list(List.of(List.of("n"), List.of("after", "id")), "42", "eva");
    assertTrue(list.holds(row(42L, null, null)));
    assertTrue(list.holds(row(1L, after("eva"), null)));
    assertFalse(list.holds(row(1L, after(null), "eva")));
    assertFalse(list.holds(row(null, null, "42")));
    assertFalse(list.holds(row(420L, after("Eva"), null)));
  }

  @Test
  void ofAChangeTheSideOfAnotherSubjectStays() throws Exception {
    StructType state = new StructType().add("id", DataTypes.LongType).add("who", DataTypes.StringType);
    StructType envelope = new StructType().add("before", state).add("op", DataTypes.StringType).add("after", state);
    for (String parent : new String[] {null, "payload"}) {
      StructType columns = parent == null ? envelope : new StructType().add(parent, envelope);
      List<String> start = parent == null ? List.of() : List.of(parent);
      List<List<String>> sides = List.of(path(start, "before"), path(start, "after"));
      List<List<String>> paths = sides.stream().map(side -> path(side, "who")).toList();
      Suppression list = new Suppression(KEY, digests("eva", "ann"), paths, sides, columns);
      String[][] cases = {
        // before, after, before that stays, after that stays
        {"eva", "zoe", null, "zoe"},
        {"zoe", "eva", "zoe", null},
        {"eva", "ann", "eva", "ann"},
        {"eva", null, "eva", null},
        {null, "eva", null, "eva"},
        {"", "eva", "", "eva"},
      };
      for (String[] each : cases) {
        Object[] change = {state(each[0]), UTF8String.fromString("u"), state(each[1])};
        Object[] values = parent == null ? change : new Object[] {new GenericInternalRow(change)};
        assertTrue(list.holds(values));
        boolean stays = !Objects.equals(each[0], each[2]) || !Objects.equals(each[1], each[3]);
        assertEquals(stays, list.keepsSide(values), () -> String.join(" ", each));
        Object[] left = parent == null ? values : ((GenericInternalRow) values[0]).values();
        assertEquals(state(each[2]), left[0]);
        assertEquals(UTF8String.fromString("u"), left[1]);
        assertEquals(state(each[3]), left[2]);
      }
    }
  }

  private static List<String> path(List<String> start, String name) {
    return Stream.concat(start.stream(), Stream.of(name)).toList();
  }

  /** A state of a row, of nobody if the text is empty. */
  private static GenericInternalRow state(String who) {
    Object subject = who == null || who.isEmpty() ? null : UTF8String.fromString(who);
    return who == null ? null : new GenericInternalRow(new Object[] {1L, subject});
  }

  @Test
  void aPathThatTheColumnsLackIsAnError() {
    assertThrows(IllegalArgumentException.class, () -> list(List.of(List.of("missing")), "x"));
  }

  @Test
  void aTextMentionsASubjectByAWordACellOrAQuotedPart() throws Exception {
    try (InputStream vectors = SuppressionTest.class.getResourceAsStream("/mentions.json")) {
      for (JsonNode vector : new ObjectMapper().readTree(vectors)) {
        String text = vector.get("text").asText();
        for (JsonNode subject : vector.get("mentions")) {
          assertTrue(list(List.of(), subject.asText()).mentions(text), () -> text + " has " + subject);
        }
        for (JsonNode subject : vector.get("lacks")) {
          assertFalse(list(List.of(), subject.asText()).mentions(text), () -> text + " lacks " + subject);
        }
      }
    }
    assertFalse(list(List.of(), "x").mentions(null));
  }

  @Test
  void aDigestIsTheHmacOfTheTextWhateverKeyWasAskedForBefore() throws Exception {
    for (byte[] key : List.of(KEY, new byte[64], KEY)) {
      for (String text : List.of("42", "é", "", "x".repeat(200))) {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        String wanted = HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        assertEquals(wanted, SubjectDigest.of(HexFormat.of().formatHex(key), text));
      }
    }
    assertNull(SubjectDigest.of("00", null));
    assertThrows(IllegalArgumentException.class, () -> new SubjectDigest(new byte[65]));
  }

  private static Suppression list(List<List<String>> paths, String... subjects) throws Exception {
    return list(COLUMNS, paths, subjects);
  }

  public static Suppression list(StructType columns, List<List<String>> paths, String... subjects) throws Exception {
    return list(columns, paths, List.of(), subjects);
  }

  public static Suppression list(
      StructType columns, List<List<String>> paths, List<List<String>> sides, String... subjects) throws Exception {
    return new Suppression(KEY, digests(subjects), paths, sides, columns);
  }

  private static Set<String> digests(String... subjects) throws Exception {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
    Set<String> digests = new HashSet<>();
    for (String subject : subjects) {
      digests.add(HexFormat.of().formatHex(mac.doFinal(subject.getBytes(StandardCharsets.UTF_8))));
    }
    return digests;
  }

  private static Object[] row(Long n, Object after, String id) {
    return new Object[] {n, after, id == null ? null : UTF8String.fromString(id)};
  }

  private static GenericInternalRow after(String id) {
    return new GenericInternalRow(new Object[] {1, id == null ? null : UTF8String.fromString(id)});
  }
}
