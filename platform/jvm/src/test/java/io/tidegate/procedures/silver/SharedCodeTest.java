package io.tidegate.procedures.silver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.tidegate.TestTable;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import org.junit.jupiter.api.Test;

/** Spark keeps compiled code by the class loader of the thread that asks for it. */
class SharedCodeTest {
  /** A session as a Connect server makes it. */
  private static SparkSession isolated() {
    var session = ((SparkSession) TestTable.spark()).newSession();
    session.conf().set("spark.sql.artifact.isolation.enabled", "true");
    session.conf().set("spark.sql.artifact.isolation.alwaysApplyClassloader", "true");
    session.artifactManager().withResources(() -> null);
    return session;
  }

  /** Returns the loaders of a task and of the driver. */
  private static List<String> loaders(org.apache.spark.sql.SparkSession session) {
    return List.of("range(1)", "VALUES 1").stream()
        .map("SELECT reflect('org.apache.spark.util.Utils', 'getContextOrSparkClassLoader') FROM %s"::formatted)
        .map(query -> session.sql(query).collectAsList().get(0).getString(0))
        .toList();
  }

  @Test
  void copiesOfIsolatedSessionsHaveOneLoader() {
    SparkSession one = isolated();
    SparkSession other = isolated();
    List<String> own = loaders(one);
    for (int place = 0; place < 2; place++) {
      assertNotEquals(own.get(place), loaders(other).get(place));
    }
    List<String> shared = SharedCode.in(one, Map.of(), SharedCodeTest::loaders);
    assertEquals(shared, SharedCode.in(one, Map.of(), SharedCodeTest::loaders));
    assertEquals(shared, SharedCode.in(other, Map.of(), SharedCodeTest::loaders));
    assertEquals(own, loaders(one));
  }

  @Test
  void settingsOfACopyStayThere() {
    SparkSession session = isolated();
    String name = "spark.sql.shuffle.partitions";
    String before = session.conf().get(name);
    assertEquals("7", SharedCode.in(session, Map.of(name, "7"), copy -> copy.conf().get(name)));
    assertEquals(before, session.conf().get(name));
  }
}
