package io.tidegate.spark;

import java.util.List;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The catalog of Tidegate's procedures: {@code CALL tidegate.system.<name>(…)}. It holds no tables. */
public final class TidegateCatalog implements ProcedureCatalog {
  private static final String[] NAMESPACE = {"system"};
  private static final List<UnboundProcedure> PROCEDURES = Procedures.ALL;

  private String name;

  @Override
  public void initialize(String catalogName, CaseInsensitiveStringMap options) {
    this.name = catalogName;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Identifier[] listProcedures(String[] namespace) {
    boolean ours = namespace.length == 0 || (namespace.length == 1 && namespace[0].equals(NAMESPACE[0]));
    return ours
        ? PROCEDURES.stream().map(p -> Identifier.of(NAMESPACE, p.name())).toArray(Identifier[]::new)
        : new Identifier[0];
  }

  @Override
  public UnboundProcedure loadProcedure(Identifier id) {
    return PROCEDURES.stream()
        .filter(p -> List.of(id.namespace()).equals(List.of(NAMESPACE)) && p.name().equalsIgnoreCase(id.name()))
        .findFirst()
        .orElseThrow(
            () ->
                new UnsupportedOperationException(
                    "no procedure " + id + " in catalog " + name + "; there are "
                        + PROCEDURES.stream().map(p -> name + ".system." + p.name()).toList() + "."));
  }
}
