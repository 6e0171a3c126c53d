package io.tidegate.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * Which files are to be read, and how, as the client says it in JSON.
 *
 * @param n the batch's number
 * @param groups files that are read together
 * @param partitions names of the columns whose values the path has
 */
public record LoadRequest(
    @JsonProperty("n") long n,
    @JsonProperty("groups") List<Group> groups,
    @JsonProperty("partitions") List<String> partitions)
    implements Serializable {

  /**
   * Files of one format, and of one header.
   *
   * @param reader name of a {@link ReaderKind}, in lower case
   * @param names a CSV file's columns, in its order
   * @param declared lower-case names of columns whose type the configuration says: 007 is a number there
   * @param csv how CSV is written; null for other formats
   * @param refusal why a field that the table has not keeps a row out
   */
  public record Group(
      @JsonProperty("reader") String reader,
      @JsonProperty("names") List<String> names,
      @JsonProperty("declared") List<String> declared,
      @JsonProperty("csv") Csv csv,
      @JsonProperty("refusal") String refusal,
      @JsonProperty("files") List<Source> files)
      implements Serializable {

    /**
     * How the files are read.
     *
     * @throws io.tidegate.TidegateException BATCH, when this server has no such reader
     */
    ReaderKind kind() {
      return ReaderKind.named(reader);
    }

    /** The same files, read in another way. */
    Group read(ReaderKind by) {
      return new Group(by.text(), names, declared, csv, refusal, files);
    }

    /** How files are read, without them: each task has a copy of it. */
    Group alone() {
      return new Group(reader, names, declared, csv, refusal, List.of());
    }

    /** Whether the bytes of the files came with the request: then those of all did. */
    boolean held() {
      return !files.isEmpty() && files.get(0).body() != null;
    }
  }

  /**
   * One file.
   *
   * @param path what is read: the object itself, or a copy; of a file that came with the request its address
   * @param size bytes that lie at {@code path}
   * @param source the object's address, {@code _source_path}
   * @param time the event's, in microseconds since 1970; null where there was none
   * @param values texts of the columns of the path, by name
   * @param body the bytes of a small file, unpacked; null where they are read at {@code path}
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

    /** What is said of the file, without its bytes. */
    Source alone() {
      return new Source(path, size, source, etag, time, values, null);
    }
  }

  /**
   * How CSV is written; {@code comment} may be null, the other characters are one each.
   *
   * @param lineEnd what ends the rows of files that are read as a whole; null where nobody knows
   */
  public record Csv(
      @JsonProperty("delimiter") String delimiter,
      @JsonProperty("quote") String quote,
      @JsonProperty("comment") String comment,
      @JsonProperty("nulls") List<String> nulls,
      @JsonProperty("decimal") String decimal,
      @JsonProperty("header") boolean header,
      @JsonProperty("line_end") String lineEnd)
      implements Serializable {}
}
