package io.tidegate.load.request;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.tidegate.output.FolderLayout;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The files that a client asks for, and how to read them. A client sends it as JSON.
 *
 * @param n the batch's number
 * @param groups files that are read together
 * @param partitions names of the columns whose values are in the path
 * @param rescued name of the column for what no other column takes; null where a row that does not fit is bad
 * @param suppressed the subjects whose rows are left out; null where there are none
 */
public record LoadRequest(
    @JsonProperty("n") long n,
    @JsonProperty("groups") List<Group> groups,
    @JsonProperty("partitions") List<String> partitions,
    @JsonProperty("rescued") String rescued,
    @JsonProperty("suppressed") Suppressed suppressed)
    implements Serializable {

  /**
   * The subjects whose rows are left out.
   *
   * @param view a temporary view of the caller's session: {@code key}, the key of the digests, in each row, and
   *     {@code digest}
   * @param paths the columns, or nested fields, that identify a subject; each is a list of names
   * @param sides the structs of a change that may each be of another subject, as lists of names; empty where a row is
   *     of its subjects as a whole
   */
  public record Suppressed(
      @JsonProperty("view") String view,
      @JsonProperty("paths") List<List<String>> paths,
      @JsonProperty("sides") List<List<String>> sides)
      implements Serializable {}

  /**
   * Files of one format, and of one header.
   *
   * @param reader name of a {@link ReaderKind}, in lower case
   * @param names columns of CSV, in the file's order, or of TEXT, in the order of the groups of {@code pattern}; for
   *     VARIANT, members that Tidegate added to the lines
   * @param declared forms of the names of columns whose type is configured: 007 is a number there in CSV, and they take
   *     every spelling of their name in JSON
   * @param csv how CSV is written, and which lines and cells of TEXT mean nothing; null for other formats
   * @param pattern Java's regular expression of a line of TEXT, whose groups are its cells; null for other formats
   * @param records name of the array whose elements are the rows of an object of JSON; null where objects are rows
   * @param refusal why a row with a field that the table does not have is refused
   * @param reserved forms of names (see {@code Names}) that no new column can have; null where there are none
   * @param layout the folders of an output; null for tables
   * @param leavesNullOut whether a line of JSON that is null is not a row: a tombstone of a change feed
   * @param whole whether a row of CSV or JSON may continue in the next line: one task reads each file as a whole
   */
  public record Group(
      @JsonProperty("reader") String reader,
      @JsonProperty("names") List<String> names,
      @JsonProperty("declared") List<String> declared,
      @JsonProperty("csv") Csv csv,
      @JsonProperty("pattern") String pattern,
      @JsonProperty("records") String records,
      @JsonProperty("refusal") String refusal,
      @JsonProperty("reserved") List<String> reserved,
      @JsonProperty("layout") FolderLayout layout,
      @JsonProperty("leaves_null_out") boolean leavesNullOut,
      @JsonProperty("whole") boolean whole,
      @JsonProperty("files") List<Source> files)
      implements Serializable {

    /**
     * How the files are read.
     *
     * @throws io.tidegate.TidegateException BATCH, when this server has no such reader
     */
    public ReaderKind kind() {
      return ReaderKind.named(reader);
    }

    /** Returns the same files, each read as a whole. */
    public Group asWhole() {
      return new Group(
          reader, names, declared, csv, pattern, records,
          refusal, reserved, layout, leavesNullOut, true, files);
    }

    /** Returns the same group without its files: each task has a copy of it. */
    public Group withoutFiles() {
      return new Group(
          reader, names, declared, csv, pattern, records,
          refusal, reserved, layout, leavesNullOut, whole, List.of());
    }

    /** Returns the files without their bytes, by their paths. */
    public HashMap<String, Source> byPath() {
      HashMap<String, Source> found = new HashMap<>();
      files.forEach(file -> found.put(file.path(), file.withoutBody()));
      return found;
    }

    /** Whether the bytes of the files came with the request. They come for all files of a group or for none. */
    public boolean hasBodies() {
      return !files.isEmpty() && files.get(0).body() != null;
    }
  }

  /**
   * One file.
   *
   * @param path what is read: the object itself, or a copy; the address, if the bytes came with the request
   * @param size bytes at {@code path}
   * @param source the object's address, {@code _source_path}
   * @param time of the event, in microseconds since 1970; null where there was none
   * @param values texts of the columns of the path, or for an output of parts of the key, by name
   * @param body the bytes of a small file, unpacked; null where they are read from {@code path}
   */
  public record Source(
      @JsonProperty("path") String path,
      @JsonProperty("size") long size,
      @JsonProperty("source") String source,
      @JsonProperty("etag") String etag,
      @JsonProperty("time") Long time,
      @JsonProperty("values") Map<String, String> values,
      @JsonProperty("body") byte[] body)
      implements Serializable {

    /** Returns the same file without its bytes. */
    public Source withoutBody() {
      return new Source(path, size, source, etag, time, values, null);
    }
  }

  /**
   * How CSV is written. Delimiter, quote and decimal are one character each, and so is {@code comment} unless it is
   * null.
   *
   * @param trailing whether rows may end with a delimiter that the header has not
   * @param unnamed the places of the header's empty cells
   */
  public record Csv(
      @JsonProperty("delimiter") String delimiter,
      @JsonProperty("quote") String quote,
      @JsonProperty("comment") String comment,
      @JsonProperty("nulls") List<String> nulls,
      @JsonProperty("decimal") String decimal,
      @JsonProperty("header") boolean header,
      @JsonProperty("trailing") boolean trailing,
      @JsonProperty("unnamed") List<Integer> unnamed)
      implements Serializable {}
}
