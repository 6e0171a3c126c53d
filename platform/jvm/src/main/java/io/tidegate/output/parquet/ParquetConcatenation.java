package io.tidegate.output.parquet;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.tidegate.TidegateException;
import io.tidegate.load.declared.SourceInput;
import io.tidegate.output.LineObjects;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Makes fewer, larger Parquet files of small ones. Files become one file if they belong to one folder and have one shape.
 * The files are in a staging folder, under names that nothing else uses.
 */
public final class ParquetConcatenation {
  private final JavaSparkContext context;
  private final Broadcast<SerializableConfiguration> conf;
  private final String staging;
  private final long fullBytes;

  /**
   * A small file.
   *
   * @param folder the folder that its rows belong to
   */
  public record Source(
      @JsonProperty("path") String path, @JsonProperty("size") long size, @JsonProperty("folder") String folder)
      implements Serializable {}

  /** The files of a request, from JSON. */
  public record Request(@JsonProperty("files") List<Source> files) {}

  /**
   * What the footer of a file says.
   *
   * @param problem why the file cannot be read; null where it can
   */
  public record Footer(Source file, long rows, String shape, String problem) implements Serializable {}

  /** Files that were written, and the footers of all source files. */
  public record Result(List<LineObjects.Written> written, List<Footer> footers) {}

  /**
   * @param staging a new folder
   * @param fullBytes bytes of source files at which a file is full
   */
  public ParquetConcatenation(SparkSession spark, String staging, long fullBytes) {
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    this.context = JavaSparkContext.fromSparkContext(session.sparkContext());
    this.conf = context.broadcast(new SerializableConfiguration(session.sessionState().newHadoopConf()));
    this.staging = staging;
    this.fullBytes = fullBytes;
  }

  /** Writes the rows of all files that can be read. */
  public Result write(List<Source> files) {
    Broadcast<SerializableConfiguration> with = conf;
    int tasks = Math.max(1, Math.min(files.size(), 8 * context.defaultParallelism()));
    List<Footer> footers =
        context.parallelize(files, tasks).map(file -> footer(file, with.value().value())).collect();
    Map<String, Footer> known = new LinkedHashMap<>();
    footers.forEach(footer -> known.put(footer.file().path(), footer));
    List<LineObjects.Written> written = new ArrayList<>();
    List<ParquetGroup> left = groups(footers, fullBytes);
    while (!left.isEmpty()) {
      List<ParquetGroup> again = new ArrayList<>();
      for (ParquetGroup.Outcome outcome : outcomes(left)) {
        if (outcome.written() != null) {
          written.add(outcome.written());
          continue;
        }
        if (outcome.broken().isEmpty()) {
          throw new IllegalStateException("files of " + outcome.group().folder() + " could not be read, and then could");
        }
        outcome.broken().forEach(footer -> known.put(footer.file().path(), footer));
        ParquetGroup rest = outcome.group().without(outcome.broken());
        if (!rest.files().isEmpty()) {
          again.add(rest);
        }
      }
      left = again;
    }
    return new Result(written, List.copyOf(known.values()));
  }

  private List<ParquetGroup.Outcome> outcomes(List<ParquetGroup> groups) {
    Broadcast<SerializableConfiguration> with = conf;
    String folder = staging;
    return context
        .parallelize(groups, groups.size())
        .map(
            group -> {
              String name = TaskContext.get().taskAttemptId() + ".parquet";
              return group.write(new Path(folder, name), with.value().value());
            })
        .collect();
  }

  private static Footer footer(Source file, Configuration conf) {
    try (ParquetFileReader reader = ParquetGroup.reader(file, ParquetGroup.body(file, conf), conf)) {
      return new Footer(file, reader.getRecordCount(), ParquetShape.of(reader.getFileMetaData()), null);
    } catch (SourceInput.Unavailable | TidegateException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      return new Footer(file, 0, null, "not Parquet, or broken: " + problem(e) + "; write it again");
    }
  }

  private static String problem(Exception error) {
    String said = ParquetGroup.problem(error);
    return said.contains("is not a Parquet file") ? "no Parquet footer at its end" : said;
  }

  /** Returns the files that become one file each, in the order of their paths. Files without rows become none. */
  static List<ParquetGroup> groups(List<Footer> footers, long fullBytes) {
    Map<String, List<Footer>> alike = new TreeMap<>();
    footers.stream()
        .filter(footer -> footer.rows() > 0)
        .sorted(Comparator.comparing(footer -> footer.file().path()))
        .forEach(
            footer ->
                alike
                    .computeIfAbsent(footer.file().folder() + "\n" + footer.shape(), ignored -> new ArrayList<>())
                    .add(footer));
    List<ParquetGroup> groups = new ArrayList<>();
    for (List<Footer> same : alike.values()) {
      int start = 0;
      long bytes = 0;
      for (int i = 0; i < same.size(); i++) {
        long size = same.get(i).file().size();
        if (i > start && bytes + size > fullBytes) {
          groups.add(group(same.subList(start, i)));
          start = i;
          bytes = 0;
        }
        bytes += size;
      }
      groups.add(group(same.subList(start, same.size())));
    }
    return groups;
  }

  private static ParquetGroup group(List<Footer> footers) {
    return new ParquetGroup(footers.get(0).file().folder(), new ArrayList<>(footers));
  }
}
