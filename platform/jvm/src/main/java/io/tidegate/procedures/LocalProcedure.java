package io.tidegate.procedures;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A procedure that runs in the driver, in the caller's session, and returns all of its rows together. */
public abstract class LocalProcedure implements UnboundProcedure, BoundProcedure {
  private static final String OTHERWISE = "otherwise";

  private final String name;
  private final String description;
  private final StructType parameters;
  private final StructType result;

  /**
   * @param parameters names and types, none null. Those that {@link #optional} made may be left out
   * @param result the rows' schema
   */
  protected LocalProcedure(String name, String description, StructType parameters, StructType result) {
    this.name = name;
    this.description = description;
    this.parameters = parameters;
    this.result = result;
  }

  /**
   * Returns a parameter that may be left out.
   *
   * @param otherwise its value then, in SQL
   */
  protected static StructField optional(String name, DataType type, String otherwise) {
    return new StructField(name, type, true, new MetadataBuilder().putString(OTHERWISE, otherwise).build());
  }

  /** Returns the procedure's rows: values in the order of the result; String, Long, Boolean or null. */
  protected abstract List<Object[]> run(SparkSession spark, Arguments arguments);

  /** The values of one call, by parameter name. */
  public record Arguments(StructType parameters, InternalRow values) {
    public String text(String parameter) {
      return values.getUTF8String(index(parameter)).toString();
    }

    public long number(String parameter) {
      return values.getLong(index(parameter));
    }

    public boolean flag(String parameter) {
      return values.getBoolean(index(parameter));
    }

    private int index(String parameter) {
      int index = parameters.fieldIndex(parameter);
      if (values.isNullAt(index)) {
        throw new TidegateException(Kind.BATCH, "argument " + parameter + " is NULL; give a value.");
      }
      return index;
    }
  }

  @Override
  public final Iterator<Scan> call(InternalRow input) {
    InternalRow[] rows =
        run(SparkSession.active(), new Arguments(parameters, input)).stream()
            .map(LocalProcedure::internal)
            .toArray(InternalRow[]::new);
    LocalScan scan =
        new LocalScan() {
          @Override
          public InternalRow[] rows() {
            return rows;
          }

          @Override
          public StructType readSchema() {
            return result;
          }
        };
    return List.<Scan>of(scan).iterator();
  }

  private static InternalRow internal(Object[] values) {
    Object[] internal = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      internal[i] = values[i] instanceof String text ? UTF8String.fromString(text) : values[i];
    }
    return new GenericInternalRow(internal);
  }

  @Override
  public final ProcedureParameter[] parameters() {
    return java.util.Arrays.stream(parameters.fields())
        .map(LocalProcedure::parameter)
        .toArray(ProcedureParameter[]::new);
  }

  private static ProcedureParameter parameter(StructField field) {
    var parameter = ProcedureParameter.in(field.name(), field.dataType());
    return field.metadata().contains(OTHERWISE)
        ? parameter.defaultValue(field.metadata().getString(OTHERWISE)).build()
        : parameter.build();
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final String description() {
    return description;
  }

  @Override
  public final BoundProcedure bind(StructType inputType) {
    return this;
  }

  @Override
  public final boolean isDeterministic() {
    return false;
  }
}
