package io.tidegate.procedures.server;

import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.procedures.LocalProcedure;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.security.CodeSource;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** {@code jars()}: returns the jar that each component of a commit was loaded from, and its SHA-256. */
public final class JarsProcedure extends LocalProcedure {
  private static final List<Map.Entry<String, String>> CLASSES =
      List.of(
          Map.entry("Tidegate", "io.tidegate.storage.DynamoDbLogStore"),
          Map.entry("Spark", "org.apache.spark.sql.SparkSession"),
          Map.entry("Delta", "org.apache.spark.sql.delta.DeltaLog"),
          Map.entry("Delta's log store API", "io.delta.storage.LogStore"),
          Map.entry("S3A", "org.apache.hadoop.fs.s3a.S3AFileSystem"),
          Map.entry("AWS SDK for DynamoDB", "software.amazon.awssdk.services.dynamodb.DynamoDbClient"),
          // Newer than those of Spark, if ours come first on the class path.
          Map.entry("Netty", "io.netty.util.Version"),
          Map.entry("LZ4", "net.jpountz.lz4.LZ4Factory"));

  public JarsProcedure() {
    super(
        "jars",
        "the jars that the classes of a commit come from; null where a class is missing",
        new StructType(),
        new StructType().add("component", StringType, false).add("jar", StringType).add("sha256", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    return CLASSES.stream().map(entry -> row(entry.getKey(), entry.getValue())).toList();
  }

  private static Object[] row(String component, String name) {
    try {
      CodeSource source = Class.forName(name).getProtectionDomain().getCodeSource();
      String path = source == null ? "" : source.getLocation().getPath();
      String sha256 = source == null ? null : digest(source.getLocation());
      return new Object[] {component, path.substring(path.lastIndexOf('/') + 1), sha256};
    } catch (ClassNotFoundException | LinkageError e) {
      return new Object[] {component, null, null};
    }
  }

  /** Returns the SHA-256 of a jar; null for what cannot be read. */
  private static String digest(URL jar) {
    try (InputStream bytes = jar.openStream()) {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] buffer = new byte[1 << 16];
      for (int count = bytes.read(buffer); count >= 0; count = bytes.read(buffer)) {
        digest.update(buffer, 0, count);
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (IOException | NoSuchAlgorithmException e) {
      return null;
    }
  }
}
