package io.tidegate.load.rows;

import io.tidegate.load.request.LoadRequest;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The subjects whose rows never enter the table again. Their identities are not known here, only keyed digests. */
public final class Suppression implements Serializable {
  private final byte[] key;
  private final Set<String> digests;
  /** For each path of a subject, its places: in the columns of files, then in each struct. */
  private final int[][] places;
  /** The places of the structs of a change that may each be of another subject. */
  private final int[][] sides;
  /** The names of these structs, from outside to inside. */
  private final List<List<String>> sideNames;

  private final StructType columns;
  private transient SubjectDigest digest;

  Suppression(
      byte[] key, Set<String> digests, List<List<String>> paths, List<List<String>> sides, StructType columns) {
    this.key = key.clone();
    this.digests = digests;
    this.columns = columns;
    this.places = paths.stream().map(path -> places(path, columns)).toArray(int[][]::new);
    this.sides = sides.stream().map(side -> places(side, columns)).toArray(int[][]::new);
    this.sideNames = List.copyOf(sides);
  }

  /**
   * Reads the list that a client has put into a temporary view: neither the key nor a digest may be in the text of a call.
   *
   * @param columns the columns that files hold
   * @return null when nothing is suppressed
   */
  public static Suppression of(SparkSession spark, LoadRequest.Suppressed suppressed, StructType columns) {
    if (suppressed == null) {
      return null;
    }
    byte[] key = null;
    Set<String> digests = new HashSet<>();
    for (Row row : spark.table(suppressed.view()).select("key", "digest").collectAsList()) {
      key = row.getAs(0);
      digests.add(HexFormat.of().formatHex(row.getAs(1)));
    }
    if (key == null) {
      throw new IllegalStateException("the list of suppressed subjects is empty");
    }
    return new Suppression(key, digests, suppressed.paths(), suppressed.sides(), columns);
  }

  private static int[] places(List<String> path, StructType columns) {
    int[] places = new int[path.size()];
    StructType at = columns;
    for (int i = 0; i < places.length; i++) {
      places[i] = at.fieldIndex(path.get(i));
      at = i + 1 < places.length ? (StructType) at.fields()[places[i]].dataType() : null;
    }
    return places;
  }

  /** Whether a row is of a suppressed subject. */
  public boolean holds(Object[] values) {
    for (int[] path : places) {
      Object subject = value(values, path);
      if (subject != null && isKnown(subject.toString())) {
        return true;
      }
    }
    return false;
  }

  /**
   * Takes the sides of a change out of a row of a suppressed subject, but for those that name another subject. A side
   * that names nobody may be the suppressed subject's, too.
   *
   * @return whether a side stays; without one, no value is changed
   */
  public boolean keepsSide(Object[] values) {
    boolean[] stay = new boolean[sides.length];
    boolean any = false;
    for (int i = 0; i < sides.length; i++) {
      stay[i] = namesAnother(values, sides[i]);
      any |= stay[i];
    }
    for (int i = 0; any && i < sides.length; i++) {
      if (!stay[i]) {
        values[sides[i][0]] = without(values[sides[i][0]], columns.fields()[sides[i][0]].dataType(), sides[i], 1);
      }
    }
    return any;
  }

  /**
   * Returns the sides of a change that a row of a suppressed subject loses, by their names. All others name another
   * subject. Returns null where no side stays.
   */
  List<List<String>> lostSides(Object[] values) {
    List<List<String>> lost = new ArrayList<>();
    for (int i = 0; i < sides.length; i++) {
      if (!namesAnother(values, sides[i])) {
        lost.add(sideNames.get(i));
      }
    }
    return lost.size() == sides.length ? null : lost;
  }

  List<List<String>> sideNames() {
    return sideNames;
  }

  private boolean namesAnother(Object[] values, int[] side) {
    boolean isNamed = false;
    for (int[] path : places) {
      if (path.length > side.length && Arrays.equals(path, 0, side.length, side, 0, side.length)) {
        Object subject = value(values, path);
        if (subject != null && isKnown(subject.toString())) {
          return false;
        }
        isNamed |= subject != null;
      }
    }
    return isNamed;
  }

  /** Returns a struct without one of the structs in it; null for the struct itself. */
  private static Object without(Object value, DataType type, int[] side, int depth) {
    if (depth == side.length || value == null) {
      return null;
    }
    InternalRow row = (InternalRow) value;
    StructField[] fields = ((StructType) type).fields();
    Object[] kept = new Object[fields.length];
    for (int i = 0; i < fields.length; i++) {
      kept[i] = row.isNullAt(i) ? null : row.get(i, fields[i].dataType());
    }
    kept[side[depth]] = without(kept[side[depth]], fields[side[depth]].dataType(), side, depth + 1);
    return new GenericInternalRow(kept);
  }

  private Object value(Object[] values, int[] path) {
    Object value = values[path[0]];
    DataType type = columns.fields()[path[0]].dataType();
    for (int i = 1; i < path.length && value != null; i++) {
      DataType inner = ((StructType) type).fields()[path[i]].dataType();
      InternalRow row = (InternalRow) value;
      value = row.isNullAt(path[i]) ? null : row.get(path[i], inner);
      type = inner;
    }
    return value;
  }

  /**
   * Whether a word, a cell or a quoted part of a text is a suppressed subject: the text of a row that cannot be read. A
   * line that is not UTF-8 is Base64 there.
   */
  public boolean mentions(String text) {
    return text != null && Mentions.any(text, this::isKnown);
  }

  private boolean isKnown(String subject) {
    if (digest == null) {
      digest = new SubjectDigest(key);
    }
    return digests.contains(digest.of(subject));
  }
}
