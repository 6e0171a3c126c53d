package io.tidegate.load.declared;

import io.tidegate.load.declared.DeclaredFormat.BadFile;
import io.tidegate.load.rows.RecordInput;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.SystemLimitException;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.Decoder;

/**
 * Reads rows of Avro within bounds. Avro makes room for as many items and bytes as a row declares before it reads the first,
 * and an item may take no byte.
 */
final class BoundedReader extends GenericDatumReader<GenericRecord> {
  /** Bytes of the longest value, as of a row of text. */
  static final int MAX_BYTES = RecordInput.MAX_BYTES;

  /** Items of all lists and maps of a row. Each takes about forty bytes of memory. */
  static final int MAX_ITEMS = 1 << 22;

  static {
    // Avro reads these once, when it reads its first value. It knows no bound of a reader.
    setIfAbsent(SystemLimitException.MAX_BYTES_LENGTH_PROPERTY);
    setIfAbsent(SystemLimitException.MAX_STRING_LENGTH_PROPERTY);
  }

  private long items;

  BoundedReader() {
    // Without conversions, so that a value comes as it was written.
    super(null, null, new GenericData());
  }

  private static void setIfAbsent(String property) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, String.valueOf(MAX_BYTES));
    }
  }

  /** Whether each value of a type takes a byte of the file. */
  static boolean takesBytes(Schema schema) {
    return switch (schema.getType()) {
      case NULL -> false;
      case FIXED -> schema.getFixedSize() > 0;
      case RECORD -> schema.getFields().stream().anyMatch(field -> takesBytes(field.schema()));
      default -> true;
    };
  }

  @Override
  public GenericRecord read(GenericRecord reuse, Decoder in) throws IOException {
    items = 0;
    try {
      return super.read(reuse, in);
    } catch (SystemLimitException e) {
      throw new BadFile("a row of it has a value of more than " + MAX_BYTES + " bytes, or says so; write it in parts");
    }
  }

  @Override
  protected Object newArray(Object old, int size, Schema schema) {
    checkItems(size);
    return super.newArray(old, size, schema);
  }

  @Override
  protected Object newMap(Object old, int size) {
    checkItems(size);
    return super.newMap(old, size);
  }

  @Override
  protected void addToArray(Object array, long place, Object item) {
    checkItems(1);
    items++;
    super.addToArray(array, place, item);
  }

  @Override
  protected void addToMap(Object map, Object key, Object value) {
    checkItems(1);
    items++;
    super.addToMap(map, key, value);
  }

  private void checkItems(int more) {
    if (items + more > MAX_ITEMS) {
      throw new BadFile("a row of it has more than " + MAX_ITEMS + " items in lists and maps; write it as several rows");
    }
  }
}
