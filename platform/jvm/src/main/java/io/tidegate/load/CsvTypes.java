package io.tidegate.load;

import java.io.Serializable;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** For each column of CSV the narrowest type that holds every cell as it stands. */
final class CsvTypes implements Serializable {
  private static final int MOST_DIGITS = 17;
  /** Inferred types, the narrowest first. */
  private static final List<DataType> TYPES =
      List.of(
          DataTypes.BooleanType, DataTypes.LongType, DataTypes.DoubleType, DataTypes.DateType, DataTypes.TimestampType);
  private static final int ALL = (1 << TYPES.size()) - 1;

  /** For each column the types that hold all cells so far, a bit for each; 0 for text. */
  private final int[] held;
  private final boolean[] valued;
  private long rows;
  /** Whether some line was none: nothing is known then. */
  private boolean torn;

  CsvTypes(int width) {
    held = new int[width];
    valued = new boolean[width];
    Arrays.fill(held, ALL);
  }

  boolean torn() {
    return torn;
  }

  /** Takes note of the row that was read last. */
  void add(CsvRows row, Cell[] rules) {
    torn |= row.torn;
    if (torn) {
      return;
    }
    rows++;
    for (int i = 0; i < held.length; i++) {
      if (held[i] == 0 || row.isNull(i)) {
        continue;
      }
      valued[i] = true;
      for (int type = 0; type < TYPES.size(); type++) {
        int bit = 1 << type;
        if ((held[i] & bit) != 0 && !holds(type, rules[type], row, i)) {
          held[i] &= ~bit;
        }
      }
    }
  }

  private static boolean holds(int type, Cell rule, CsvRows row, int cell) {
    byte[] bytes = row.bytes[cell];
    int from = row.from[cell];
    int to = row.to[cell];
    if (TYPES.get(type) != DataTypes.DoubleType) {
      return rule.value(bytes, from, to) != Cell.WRONG;
    }
    byte[] plain = Cell.plain(bytes, from, to, row.csv.decimal().charAt(0));
    if (plain == null) {
      return false;
    }
    int start = plain == bytes ? from : 0;
    int end = plain == bytes ? to : plain.length;
    return new CellScan(plain, start, end).isPlainNumber(MOST_DIGITS) && rule.value(plain, start, end) != Cell.WRONG;
  }

  /** The rules of the types, for one task. */
  static Cell[] rules(String zone) {
    ZoneId id = zone == null ? ZoneOffset.UTC : ZoneId.of(zone);
    return TYPES.stream().map(type -> Cell.of(type, false, '.', id)).toArray(Cell[]::new);
  }

  CsvTypes plus(CsvTypes other) {
    for (int i = 0; i < held.length; i++) {
      held[i] &= other.held[i];
      valued[i] |= other.valued[i];
    }
    rows += other.rows;
    torn |= other.torn;
    return this;
  }

  /** Spark's names of the types; none if there are no rows. A column without a value is text. */
  List<String> names() {
    List<String> names = new ArrayList<>();
    for (int i = 0; rows > 0 && i < held.length; i++) {
      DataType type =
          held[i] == 0 || !valued[i] ? DataTypes.StringType : TYPES.get(Integer.numberOfTrailingZeros(held[i]));
      names.add(type.typeName());
    }
    return names;
  }
}
