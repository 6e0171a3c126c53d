package io.tidegate.load.declared;

import io.tidegate.load.declared.DeclaredFormat.BadFile;
import io.tidegate.load.rows.RecordInput;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.avro.SystemLimitException;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.SeekableInput;
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

  /** Items of a list or a map, and all items of a row that take no byte. Each takes about forty bytes of memory. */
  static final int MAX_ITEMS = 1 << 22;

  static {
    // Avro reads these once, when it reads its first value. It knows no bound of a reader.
    setIfAbsent(SystemLimitException.MAX_BYTES_LENGTH_PROPERTY, MAX_BYTES);
    setIfAbsent(SystemLimitException.MAX_STRING_LENGTH_PROPERTY, MAX_BYTES);
    setIfAbsent(SystemLimitException.MAX_COLLECTION_LENGTH_PROPERTY, MAX_ITEMS);
  }

  private long items;

  private BoundedReader() {
    // Without conversions, so that a value comes as it was written.
    super(null, null, new GenericData());
  }

  /** Begins to read a file. */
  static DataFileReader<GenericRecord> open(SeekableInput file) throws IOException {
    try {
      return new DataFileReader<>(file, new BoundedReader());
    } catch (SystemLimitException e) {
      throw new BadFile("a type of it has values of more than " + MAX_BYTES + " bytes; write them in parts");
    }
  }

  /** Refuses a block with more rows without a byte than a row may have such items. */
  static void checkRows(long rows) {
    if (rows > MAX_ITEMS) {
      throw new BadFile(
          "a block of it has " + rows + " rows without a byte, and such a block has " + MAX_ITEMS
              + " at most; write a column with values");
    }
  }

  private static void setIfAbsent(String property, int limit) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, String.valueOf(limit));
    }
  }

  /** Whether each value of a type takes a byte of the file. */
  static boolean takesBytes(Schema schema) {
    return takesBytes(schema, new HashSet<>());
  }

  private static boolean takesBytes(Schema schema, Set<String> seen) {
    return switch (schema.getType()) {
      case NULL -> false;
      case FIXED -> schema.getFixedSize() > 0;
      case RECORD ->
          seen.add(schema.getFullName())
              && schema.getFields().stream().anyMatch(field -> takesBytes(field.schema(), seen));
      default -> true;
    };
  }

  /** Whether a type has a list whose items take no byte. */
  private static boolean hasFreeItems(Schema schema, Set<String> seen) {
    return switch (schema.getType()) {
      case ARRAY -> !takesBytes(schema.getElementType()) || hasFreeItems(schema.getElementType(), seen);
      case MAP -> hasFreeItems(schema.getValueType(), seen);
      case UNION -> schema.getTypes().stream().anyMatch(member -> hasFreeItems(member, seen));
      case RECORD ->
          seen.add(schema.getFullName())
              && schema.getFields().stream().anyMatch(field -> hasFreeItems(field.schema(), seen));
      default -> false;
    };
  }

  @Override
  public void setSchema(Schema actual) {
    super.setSchema(actual);
    // Avro's faster reader asks nobody for the items that it makes.
    getData().setFastReaderEnabled(!hasFreeItems(actual, new HashSet<>()));
  }

  @Override
  public GenericRecord read(GenericRecord reuse, Decoder in) throws IOException {
    items = 0;
    try {
      return super.read(reuse, in);
    } catch (SystemLimitException | UnsupportedOperationException e) {
      throw new BadFile(
          "a row of it has a value of more than " + MAX_BYTES + " bytes, or a list or map of more than " + MAX_ITEMS
              + " items, or says so; write it in parts");
    }
  }

  @Override
  protected Object newArray(Object old, int size, Schema schema) {
    checkItems(size);
    return super.newArray(old, size, schema);
  }

  @Override
  protected void addToArray(Object array, long place, Object item) {
    checkItems(1);
    items++;
    super.addToArray(array, place, item);
  }

  private void checkItems(int more) {
    if (items + more > MAX_ITEMS) {
      throw new BadFile("a row of it has more than " + MAX_ITEMS + " items in lists, which take no byte; write their number");
    }
  }
}
