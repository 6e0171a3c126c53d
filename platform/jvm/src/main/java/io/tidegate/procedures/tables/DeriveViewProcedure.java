package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code derive_view(schema, name, pattern_schema, query, made_of)}: makes a view with another query and the columns of
 * the view that has the same name in {@code pattern_schema}. The query is not analyzed before the view is used.
 */
public final class DeriveViewProcedure extends LocalProcedure {
  public DeriveViewProcedure() {
    super(
        "derive_view",
        "make a view with the columns of another and a query of its own, without analyzing it",
        new StructType()
            .add("schema", StringType)
            .add("name", StringType)
            .add("pattern_schema", StringType)
            .add("query", StringType)
            .add("made_of", StringType),
        new StructType().add("made", BooleanType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    new TableNames(spark)
        .derive(
            arguments.text("schema"),
            arguments.text("name"),
            arguments.text("pattern_schema"),
            arguments.text("query"),
            arguments.text("made_of"));
    return List.<Object[]>of(new Object[] {true});
  }
}
