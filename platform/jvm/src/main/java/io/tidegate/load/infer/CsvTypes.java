package io.tidegate.load.infer;

import io.tidegate.Names;
import io.tidegate.load.csv.CsvRows;
import io.tidegate.load.values.Cell;
import io.tidegate.load.values.CellScan;
import java.io.Serializable;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/**
 * The narrowest type of each CSV column that keeps every cell as it is written. A column's type follows from its cells
 * alone: from those of all headers, in any order.
 */
final class CsvTypes implements Serializable {
  private static final int MAX_DIGITS = 17;
  /** Inferred types, the narrowest first. */
  private static final List<DataType> TYPES =
      List.of(
          DataTypes.BooleanType, DataTypes.LongType, DataTypes.DoubleType, DataTypes.DateType, DataTypes.TimestampType);
  private static final int ALL = (1 << TYPES.size()) - 1;

  private final List<String> names;
  /** For each column, the types that fit all cells so far, a bit for each type; 0 means text. */
  private final int[] fitting;
  private final boolean[] hasValue;
  private long rows;
  /** Whether a line was torn. Nothing is known then. */
  private boolean torn;

  CsvTypes(List<String> names) {
    this.names = List.copyOf(names);
    fitting = new int[names.size()];
    hasValue = new boolean[names.size()];
    Arrays.fill(fitting, ALL);
  }

  boolean torn() {
    return torn;
  }

  /** Adds the row that the reader read last, which the table can take. */
  void add(CsvRows row, Cell[] rules) {
    torn |= row.torn;
    if (torn) {
      return;
    }
    rows++;
    for (int i = 0; i < fitting.length; i++) {
      if (fitting[i] == 0 || row.isNull(i) || row.isEmpty(i)) {
        continue;
      }
      hasValue[i] = true;
      for (int type = 0; type < TYPES.size(); type++) {
        int bit = 1 << type;
        if ((fitting[i] & bit) != 0 && !holds(type, rules[type], row, i)) {
          fitting[i] &= ~bit;
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
    return new CellScan(plain, start, end).isPlainNumber(MAX_DIGITS) && rule.value(plain, start, end) != Cell.WRONG;
  }

  /** Returns the rules of the types, for one task. */
  static Cell[] rules(String zone) {
    ZoneId id = zone == null ? ZoneOffset.UTC : ZoneId.of(zone);
    return TYPES.stream().map(type -> Cell.of(type, false, '.', id)).toArray(Cell[]::new);
  }

  CsvTypes plus(CsvTypes other) {
    for (int i = 0; i < fitting.length; i++) {
      fitting[i] &= other.fitting[i];
      hasValue[i] |= other.hasValue[i];
    }
    rows += other.rows;
    torn |= other.torn;
    return this;
  }

  /** Returns the columns of some headers. A column without a value has no type; a header without rows shows no columns. */
  static StructType columns(List<CsvTypes> headers) {
    Map<String, Column> all = new LinkedHashMap<>();
    for (CsvTypes types : headers) {
      for (int i = 0; types.rows > 0 && i < types.fitting.length; i++) {
        Column column = new Column(types.names.get(i), types.fitting[i], types.hasValue[i]);
        all.merge(Names.folded(column.name), column, Column::plus);
      }
    }
    StructType columns = new StructType();
    for (Column column : all.values()) {
      columns = columns.add(column.name, column.type(), true, column.isExact() ? ExactNumbers.MARK : Metadata.empty());
    }
    return columns;
  }

  private record Column(String name, int fitting, boolean hasValue) {
    Column plus(Column other) {
      return new Column(name, fitting & other.fitting, hasValue || other.hasValue);
    }

    boolean isExact() {
      return type() == DataTypes.LongType && (fitting & (1 << TYPES.indexOf(DataTypes.DoubleType))) == 0;
    }

    DataType type() {
      if (!hasValue) {
        return DataTypes.NullType; // Files of another format may have its values.
      }
      return fitting == 0 ? DataTypes.StringType : TYPES.get(Integer.numberOfTrailingZeros(fitting));
    }
  }
}
