package io.tidegate.procedures;

import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;

/**
 * Work in a copy of a session, with settings of its own, and with Java code that all sessions share.
 *
 * <p>Spark keeps the code that it compiles for queries by class loader, and a Connect server gives each session a loader
 * of its own, on the driver and in its tasks. So each client's first queries would be compiled anew, for seconds.
 */
final class SharedCode {
  private static final Map<String, String> NOT_ISOLATED =
      Map.of(
          "spark.sql.artifact.isolation.enabled", "false",
          "spark.sql.artifact.isolation.alwaysApplyClassLoader", "false");

  private SharedCode() {}

  /**
   * Runs {@code work} in a copy of {@code spark}: its settings, functions and temporary views; nothing that is done to
   * the copy's own reaches the session.
   *
   * @param settings of the copy alone
   */
  static <T> T in(SparkSession spark, Map<String, String> settings, Function<SparkSession, T> work) {
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    var copy = session.cloneSession();
    NOT_ISOLATED.forEach(copy.conf()::set);
    settings.forEach(copy.conf()::set);
    Thread thread = Thread.currentThread();
    ClassLoader own = thread.getContextClassLoader();
    thread.setContextClassLoader(copy.sharedState().jarClassLoader());
    org.apache.spark.sql.classic.SparkSession.setActiveSession(copy);
    try {
      return copy.artifactManager().withResources(() -> work.apply(copy));
    } finally {
      org.apache.spark.sql.classic.SparkSession.setActiveSession(session);
      thread.setContextClassLoader(own);
    }
  }
}
