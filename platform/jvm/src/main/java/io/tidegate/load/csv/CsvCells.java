package io.tidegate.load.csv;


import io.tidegate.load.request.LoadRequest;
import java.time.ZoneId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads CSV rows that Spark's reader has split: every cell is text, and a row with another number of cells is as
 * written.
 */
public final class CsvCells extends CsvRows {
  private final UTF8String quote;
  private String misshapen;

  public CsvCells(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone, boolean rescues) {
    super(group, columns, pathColumns, zone, rescues);
    quote = UTF8String.fromString(csv.quote());
  }

  @Override
  protected boolean take(InternalRow row) {
    for (int i = 0; i < width; i++) {
      boolean isNull = row.isNullAt(i);
      bytes[i] = isNull ? null : row.getUTF8String(i).getBytes();
      from[i] = 0;
      to[i] = isNull ? -1 : bytes[i].length;
      suspect |= !isNull && (isOdd(bytes[i]) || row.getUTF8String(i).startsWith(quote));
    }
    UTF8String corrupt = row.isNullAt(width) ? null : row.getUTF8String(width);
    misshapen = corrupt == null ? null : corrupt.toString();
    suspect |= corrupt != null && isOdd(corrupt.getBytes());
    if (misshapen != null) {
      misshapen();
    } else {
      convert();
    }
    return true;
  }

  @Override
  public String raw() {
    if (misshapen != null) {
      return misshapen;
    }
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < width; i++) {
      line.append(i == 0 ? "" : csv.delimiter()).append(to[i] < 0 ? "" : quoted(text(i)));
    }
    return line.toString();
  }

  private String quoted(String cell) {
    String mark = csv.quote();
    boolean plain =
        !cell.isEmpty() && !cell.contains(mark) && !cell.contains(csv.delimiter()) && cell.indexOf('\n') < 0
            && cell.indexOf('\r') < 0;
    return plain ? cell : mark + cell.replace(mark, mark + mark) + mark;
  }

  /** Whether the text may be part of a quoted cell that never ends, or has replaced bytes of another encoding. */
  private static boolean isOdd(byte[] text) {
    for (int i = 0; i < text.length; i++) {
      if (text[i] == '\n' || text[i] == '\r') {
        return true;
      }
      if (text[i] == (byte) 0xEF && i + 2 < text.length && text[i + 1] == (byte) 0xBF && text[i + 2] == (byte) 0xBD) {
        return true;
      }
    }
    return false;
  }
}
