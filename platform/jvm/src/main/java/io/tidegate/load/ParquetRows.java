package io.tidegate.load;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads rows of Parquet. None is bad, because the footer was checked before. */
final class ParquetRows extends RowReader {
  private final StructField[] columns;

  ParquetRows(StructType columns, int pathColumns) {
    super(columns.size(), pathColumns);
    this.columns = columns.fields();
  }

  @Override
  boolean take(InternalRow row) {
    for (int i = 0; i < columns.length; i++) {
      values[i] = row.isNullAt(i) ? null : row.get(i, columns[i].dataType());
    }
    return true;
  }

  @Override
  String raw() {
    return null;
  }
}
