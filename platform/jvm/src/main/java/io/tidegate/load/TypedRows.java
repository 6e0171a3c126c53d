package io.tidegate.load;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads rows of files whose columns were checked before. They come in the table's types, and none is bad. */
final class TypedRows extends RowReader {
  private final StructField[] columns;

  TypedRows(StructType columns, int pathColumns) {
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
