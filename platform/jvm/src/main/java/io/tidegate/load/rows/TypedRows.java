package io.tidegate.load.rows;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads rows of files whose columns were checked before. They come in the table's types, and none is bad. */
public final class TypedRows extends RowReader {
  private final StructField[] columns;

  public TypedRows(StructType columns, int pathColumns) {
    super(columns.size(), pathColumns);
    this.columns = columns.fields();
  }

  @Override
  protected boolean take(InternalRow row) {
    for (int i = 0; i < columns.length; i++) {
      values[i] = row.isNullAt(i) ? null : row.get(i, columns[i].dataType());
    }
    return true;
  }

  @Override
  public String raw() {
    return null;
  }
}
