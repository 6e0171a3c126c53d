package io.tidegate.procedures.silver;

import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;

/**
 * Runs work in a copy of a session that has its own settings, and shares compiled code with all sessions.
 *
 * <p>Spark caches the code that it compiles for queries by class loader, and a Connect server gives each session its
 * own loader, on the driver and in its tasks. So the first queries of each client would be compiled again, for seconds.
 */
final class SharedCode {
  private static final Map<String, String> NOT_ISOLATED =
      Map.of(
          "spark.sql.artifact.isolation.enabled", "false",
          "spark.sql.artifact.isolation.alwaysApplyClassloader", "false");

  private SharedCode() {}

  /**
   * Runs {@code work} in a copy of {@code spark}, with its settings, functions and temporary views. A change of the
   * copy does not reach the session.
   *
   * @param settings that only the copy has
   */
  static <T> T in(SparkSession spark, Map<String, String> settings, Function<SparkSession, T> work) {
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    // A copy decides at its birth whether it is isolated. The session has decided long ago.
    NOT_ISOLATED.forEach(session.conf()::set);
    var copy = session.cloneSession();
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
