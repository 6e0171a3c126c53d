package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.quarantine.Reason;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.types.variant.Variant;
import org.apache.spark.types.variant.VariantBuilder;
import org.apache.spark.types.variant.VariantSizeLimitException;
import org.apache.spark.types.variant.VariantUtil;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * Reads each JSON line as one VARIANT. Fields that are columns of their own, or of the path, are read by {@link JsonRows}
 * from a line that has nothing but these fields, with their values as they are spelled.
 */
public final class VariantRows extends JsonLineReader {
  /** The column that has the whole object. {@code names.py} has the same name. */
  static final String COLUMN = "data";

  private static final String DUPLICATE = "VARIANT_DUPLICATE_KEY";

  /** By name, the start of a member of the line for {@link #columns}: the name in quotes, and a colon. */
  private final Map<String, byte[]> members = new HashMap<>();
  private final Set<String> leftOut;
  private final JsonRows columns;
  /** By column of {@link #columns}, its place in {@link #values}. */
  private final int[] places;
  private final int place;
  private final ByteArrayOutputStream found = new ByteArrayOutputStream();

  private boolean mayHaveHalves;
  private JsonParser parser;
  private VariantBuilder builder;

  /** Why the row is bad, found while it is read. */
  private static final class BadRow extends RuntimeException {
    BadRow(String reason) {
      super(reason, null, false, false);
    }
  }

  /**
   * @param leftOut names of members that Tidegate added to the lines: they are columns, and no part of the VARIANT
   * @throws TidegateException BATCH, when the table has no VARIANT column of that name
   */
  public VariantRows(StructType table, String[] pathColumns, List<String> leftOut, String refusal, String timeZone) {
    super(table.size(), pathColumns.length);
    this.leftOut = Set.copyOf(leftOut);
    StructType own = new StructType();
    List<Integer> ownPlaces = new ArrayList<>();
    int data = -1;
    for (int i = 0; i < table.size(); i++) {
      StructField field = table.fields()[i];
      if (field.name().equals(COLUMN)) {
        data = i;
      } else {
        own = own.add(field);
        ownPlaces.add(i);
        members.put(field.name(), member(field.name()));
      }
    }
    if (data < 0) {
      throw new TidegateException(Kind.BATCH, "the table has no column " + COLUMN + " for whole objects. Add it.");
    }
    for (String name : pathColumns) {
      members.put(name, member(name));
    }
    this.place = data;
    this.places = ownPlaces.stream().mapToInt(Integer::intValue).toArray();
    this.columns = new JsonRows(own, pathColumns, refusal, timeZone, false);
  }

  private static byte[] member(String name) {
    return ("\"" + new String(JsonStringEncoder.getInstance().quoteAsString(name)) + "\":").getBytes(UTF_8);
  }

  @Override
  protected void takeLine() {
    try {
      values[place] = whole();
      takeColumns();
    } catch (BadRow e) {
      bad = e.getMessage();
    }
    if (bad != null) {
      Arrays.fill(values, null);
    }
  }

  /** Reads the fields that are columns of their own. */
  private void takeColumns() {
    if (found.size() == 0) {
      return;
    }
    found.write('}');
    columns.read(new GenericInternalRow(new Object[] {UTF8String.fromBytes(found.toByteArray())}));
    bad = columns.bad;
    System.arraycopy(columns.inFile, 0, inFile, 0, inFile.length);
    for (int i = 0; i < places.length; i++) {
      values[places[i]] = columns.values[i];
    }
  }

  /** Returns the object of the line. */
  private VariantVal whole() {
    found.reset();
    mayHaveHalves = JsonRows.mayHaveHalves(line);
    builder = new VariantBuilder(false);
    boolean ended = false;
    if (JsonRows.hasMark(line)) {
      throw new BadRow(NO_OBJECT);
    }
    try (JsonParser tokens = columns.parserOf(line)) {
      parser = tokens;
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new BadRow(NO_OBJECT);
      }
      object(true);
      ended = true;
      if (parser.nextToken() != null) {
        throw new BadRow(NOT_ALONE);
      }
      Variant variant = builder.result();
      return new VariantVal(variant.getValue(), variant.getMetadata());
    } catch (IOException e) {
      String excess = JsonRows.excess(e);
      throw new BadRow(excess != null ? excess : ended ? NOT_ALONE : NO_OBJECT);
    } catch (VariantSizeLimitException e) {
      throw new BadRow("more than a VARIANT holds, which is %,d bytes; write it in parts".formatted(VariantUtil.SIZE_LIMIT));
    } catch (SparkRuntimeException e) {
      if (DUPLICATE.equals(e.getCondition())) {
        throw new BadRow(JsonRows.repeated(Reason.cut(e.getMessageParameters().get("key"))));
      }
      throw e;
    }
  }

  /** Appends the object at whose start the parser is. */
  private void object(boolean isRoot) throws IOException {
    ArrayList<VariantBuilder.FieldEntry> fields = new ArrayList<>();
    int start = builder.getWritePos();
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      checkText(name);
      byte[] member = isRoot ? members.get(name) : null;
      JsonToken token = parser.nextToken();
      long from = member == null ? 0 : parser.currentTokenLocation().getByteOffset();
      if (member != null && leftOut.contains(name)) {
        parser.skipChildren();
        parser.finishToken();
      } else {
        fields.add(new VariantBuilder.FieldEntry(name, builder.addKey(name), builder.getWritePos() - start));
        value(token);
      }
      if (member != null) {
        found.write(found.size() == 0 ? '{' : ',');
        found.writeBytes(member);
        found.write(line, (int) from, (int) (parser.currentLocation().getByteOffset() - from));
      }
    }
    builder.finishWritingObject(start, fields);
  }

  private void array() throws IOException {
    ArrayList<Integer> offsets = new ArrayList<>();
    int start = builder.getWritePos();
    for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
      offsets.add(builder.getWritePos() - start);
      value(token);
    }
    builder.finishWritingArray(start, offsets);
  }

  private void value(JsonToken token) throws IOException {
    switch (token) {
      case START_OBJECT -> object(false);
      case START_ARRAY -> array();
      case VALUE_STRING -> {
        String text = parser.getText();
        checkText(text);
        builder.appendString(text);
      }
      case VALUE_NUMBER_INT -> {
        if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
          number(parser.getText());
        } else {
          builder.appendLong(parser.getLongValue());
        }
      }
      case VALUE_NUMBER_FLOAT -> number(parser.getText());
      case VALUE_TRUE -> builder.appendBoolean(true);
      case VALUE_FALSE -> builder.appendBoolean(false);
      case VALUE_NULL -> builder.appendNull();
      default -> throw new BadRow(NO_OBJECT);
    }
  }

  /** Appends a number that is not a long, as the decimal or the double that keeps it. */
  private void number(String text) {
    VariantNumber exact = VariantNumber.of(text);
    if (exact == null) {
      throw new BadRow(
          "a number that no VARIANT keeps: " + Reason.cut(text)
              + "; it keeps decimals of up to 38 digits and doubles, so write it as text");
    }
    if (exact.decimal() != null) {
      builder.appendDecimal(exact.decimal());
    } else {
      builder.appendDouble(exact.floating());
    }
  }

  /** Refuses half of a surrogate pair, which would become a question mark. */
  private void checkText(String text) {
    if (mayHaveHalves && !UTF_8.newEncoder().canEncode(text)) {
      throw new BadRow(JsonRows.NO_UNICODE);
    }
  }
}
