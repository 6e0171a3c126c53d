package io.tidegate.load.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.io.JsonEOFException;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.rows.RecordInput;
import io.tidegate.load.rows.Records;
import java.io.IOException;
import java.io.InputStream;

/**
 * The values of a text of JSON, one after the other: the one grammar of JSON files. Blanks, line ends and commas are
 * between them, and an array of objects or arrays is open: its elements are values.
 *
 * <p>What is not a value ends with its line. Of a value that breaks over several lines, the other lines are passed, each by
 * itself, until one begins an object or an array no further to the right: it is not a part of the broken one.
 */
public final class JsonRecords implements Records {
  private static final String TOO_LONG = "a JSON value has more than %,d bytes; write it in parts";
  /** Bytes at the end of what is held that may be the beginning of a longer token. */
  private static final int LONGEST_TOKEN = 64;
  /** Levels of a value. What is deeper is a broken value, for each level takes memory; no row has a tenth of them. */
  private static final int MAX_DEPTH = 1_000;
  /** Bytes of a file that may be parsed in vain, besides {@link #VAIN_SHARE} times those that are behind. */
  private static final long MAX_VAIN_BYTES = 2L * RecordInput.MAX_BYTES;
  private static final int VAIN_SHARE = 8;
  private static final String BREAKS = "its values break again and again, so it is not JSON; write the file again";
  private static final int OPEN_ENDED = -1;
  private static final int BROKEN = -2;

  static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNumberLength(Integer.MAX_VALUE)
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .maxNestingDepth(MAX_DEPTH)
                  .build())
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .build();

  private static final String NO_RECORDS =
      "it has an object without an array %1$s of records: take `records: %1$s` out of `json` in lake.yaml, or move the file";
  private static final String NOT_UTF_8 = "it is not UTF-8, which JSON must be; write it in UTF-8";
  private static final String MORE_MEMBERS =
      "an object does not end behind its array %s of records, and no row would have what follows; write the file again";

  private final RecordInput input;
  /** The name of the array of an object whose elements are values; null where the object is one. */
  private final String records;
  /** Bytes between the beginning of the line and the record. */
  private int column;
  private int openArrays;
  /** While the rest of a broken value is passed, where it began in its line; otherwise -1. */
  private int brokenAt = -1;
  private boolean cutOff;
  /** Bytes before the record, and those that were parsed although no value begins where the parser began. */
  private long behind;
  private long inVain;
  /** So many bytes from here on are known to be brackets and blanks, and whether the arrays that begin there are open. */
  private int brackets;
  private boolean areOpen;

  /**
   * The values of a file.
   *
   * @param records the name of the array of each object whose elements are the values; null where the objects are values
   */
  public JsonRecords(InputStream in, String records) {
    input = new RecordInput(in, TOO_LONG);
    this.records = records;
  }

  /** The values of one line. */
  JsonRecords(byte[] line) {
    input = new RecordInput(line);
    records = null;
  }

  /** Whether the text ended in the middle of the value that was returned last; for an array, its beginning was. */
  boolean cutOff() {
    return cutOff;
  }

  /** The bytes that are held of the text. */
  int held() {
    return input.window().length;
  }

  @Override
  public byte[] next() throws IOException {
    cutOff = false;
    while (input.hasText()) {
      byte found = input.at(0);
      if (found == '\n' || found == '\r') {
        skip(1);
        column = 0;
      } else if (found == ' ' || found == '\t') {
        skip(1);
      } else if (brokenAt >= 0 && !(isOpening(found) && column <= brokenAt)) {
        return line();
      } else if (records != null && openArrays == 0) {
        enterObject();
      } else if (found == ',' || (found == ']' && openArrays > 0)) {
        openArrays -= found == ']' ? 1 : 0;
        skip(1);
        if (records != null && found == ']' && openArrays == 0) {
          leaveObject();
        }
      } else if (found == '[' && opens()) {
        brokenAt = -1;
        openArrays++;
        skip(1);
      } else {
        return value(found);
      }
    }
    cutOff = openArrays > 0;
    openArrays = 0;
    return cutOff ? new byte[] {'['} : null;
  }

  private byte[] value(byte found) throws IOException {
    brokenAt = -1;
    if (!isOpening(found)) {
      return line();
    }
    int end = end();
    if (end < 0) {
      brokenAt = column;
      cutOff = end == OPEN_ENDED;
      return line();
    }
    byte[] value = take(end);
    for (byte character : value) {
      column = character == '\n' || character == '\r' ? 0 : column;
    }
    return value;
  }

  /** Returns the rest of the line. */
  private byte[] line() throws IOException {
    int end = 0;
    while (input.has(end) && input.at(end) != '\n' && input.at(end) != '\r') {
      end++;
    }
    return take(end);
  }

  private byte[] take(int length) {
    column += length;
    behind += length;
    brackets = 0;
    return input.take(length, 0);
  }

  private void skip(int count) {
    input.skip(count);
    column += count;
    behind += count;
    brackets = Math.max(0, brackets - count);
  }

  private static boolean isOpening(byte found) {
    return found == '{' || found == '[';
  }

  /** Whether the array that begins here is open: it is empty, or its first element is an object or such an array. */
  private boolean opens() throws IOException {
    if (brackets == 0) {
      int at = 1;
      while (input.has(at) && (isBlank(input.at(at)) || input.at(at) == '[')) {
        at++;
      }
      brackets = at;
      areOpen = !input.has(at) || input.at(at) == '{' || input.at(at) == ']';
    }
    return areOpen;
  }

  private static boolean isBlank(byte found) {
    return found == ' ' || found == '\t' || found == '\n' || found == '\r';
  }

  /** Passes what an object has before the elements of its array of records. */
  private void enterObject() throws IOException {
    if (isOtherEncoding()) {
      throw new TidegateException(Kind.FILE, NOT_UTF_8);
    }
    while (true) {
      try (JsonParser parser = FACTORY.createParser(input.window(), input.begin(), input.held())) {
        boolean isObject = parser.nextToken() == JsonToken.START_OBJECT;
        while (isObject && parser.nextToken() == JsonToken.FIELD_NAME) {
          boolean isNamed = parser.currentName().equals(records);
          if (parser.nextToken() == JsonToken.START_ARRAY && isNamed) {
            skip((int) parser.currentLocation().getByteOffset());
            openArrays = 1;
            return;
          }
          parser.skipChildren();
        }
        throw new TidegateException(Kind.FILE, NO_RECORDS.formatted(records));
      } catch (IOException e) {
        if (!input.more()) {
          throw new TidegateException(Kind.FILE, NO_RECORDS.formatted(records), e);
        }
      }
      // As much again: what is held is parsed from its beginning.
      int held = input.held();
      while (input.held() < Math.min(2L * held, RecordInput.MAX_BYTES) && input.more()) {
        continue;
      }
    }
  }

  /** Passes the end of an object, behind its array of records. */
  private void leaveObject() throws IOException {
    while (input.has(0) && isBlank(input.at(0))) {
      skip(1);
    }
    if (!input.has(0) || input.at(0) != '}') {
      throw new TidegateException(Kind.FILE, MORE_MEMBERS.formatted(records));
    }
    skip(1);
  }

  /** Whether the parser would take what begins here for another encoding, by a zero among its first bytes. */
  private boolean isOtherEncoding() throws IOException {
    for (int i = 0; i < 4 && input.has(i); i++) {
      if (input.at(i) == 0) {
        return true;
      }
    }
    return false;
  }

  /** Returns how long the value is that begins here; {@link #OPEN_ENDED} or {@link #BROKEN}. */
  private int end() throws IOException {
    if (isOtherEncoding()) {
      return BROKEN;
    }
    while (true) {
      int held = input.held();
      try (JsonParser parser = FACTORY.createParser(input.window(), input.begin(), held)) {
        int depth = 0;
        do {
          JsonToken token = parser.nextToken();
          depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
        } while (depth > 0);
        return (int) parser.currentLocation().getByteOffset();
      } catch (JsonEOFException e) {
        if (!input.more()) {
          parsedInVain(held);
          return OPEN_ENDED;
        }
      } catch (IOException e) {
        JsonLocation at = e instanceof JsonProcessingException known ? known.getLocation() : null;
        boolean mayGoOn = at != null && at.getByteOffset() > held - LONGEST_TOKEN;
        if (!mayGoOn || !input.more()) {
          parsedInVain(at == null ? held : at.getByteOffset());
          return BROKEN;
        }
      }
      // As much again, or all: a value is parsed again and again otherwise.
      while (input.held() < Math.min(2L * held, RecordInput.MAX_BYTES) && input.more()) {
        continue;
      }
    }
  }

  /** Counts bytes. A file that is parsed again and again, from each of its lines to its end, is refused. */
  private void parsedInVain(long bytes) {
    inVain += Math.max(bytes, 1);
    if (inVain > MAX_VAIN_BYTES + VAIN_SHARE * behind) {
      throw new TidegateException(Kind.FILE, BREAKS);
    }
  }
}
