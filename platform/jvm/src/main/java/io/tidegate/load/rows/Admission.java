package io.tidegate.load.rows;

import io.tidegate.load.request.LoadRequest;
import java.util.List;

/** Which rows of a reader enter the table: the one answer for a load and for inference. */
public final class Admission {
  private final RowReader reader;
  private final TableColumns columns;
  private final Suppression suppression;

  /**
   * @param reader whose last row is asked for
   * @param suppression whose rows are left out; null where nobody's are
   */
  public Admission(RowReader reader, TableColumns columns, Suppression suppression) {
    this.reader = reader;
    this.columns = columns;
    this.suppression = suppression;
  }

  /** Returns why the row is bad, or null. */
  public String bad(LoadRequest.Source file) {
    String bad = reader.bad == null ? reader.rescued.problem() : reader.bad;
    return bad == null ? columns.differing(file, reader.inFile) : bad;
  }

  /**
   * Returns what of the row is a suppressed subject's. Without a subject in its column, because it is bad or the subject
   * is rescued, it is searched as text. Of a change, a side of another subject stays, unless the text of the row is
   * kept. What makes a row bad may be in the side that is left out, so it is judged without that one.
   */
  public Suppressed suppressed(LoadRequest.Source file) {
    if (suppression == null) {
      return Suppressed.NOTHING;
    }
    boolean isNamed = reader.bad == null && suppression.holds(reader.values);
    if (!isNamed && (isWhole() || !suppression.mentions(reader.raw()))) {
      return Suppressed.NOTHING;
    }
    if (reader.bad != null && !reader.readWithout(suppression.sideNames(), suppression::mentions)) {
      return Suppressed.ALL;
    }
    boolean stays = isWhole() && bad(file) == null && suppression.keepsSide(reader.values);
    return stays ? Suppressed.A_SIDE : Suppressed.ALL;
  }

  /** Whether columns take all of the row: its text is not kept. */
  private boolean isWhole() {
    return reader.bad == null && reader.rescued.object() == null;
  }

  /**
   * Returns the sides of a change that the row loses, by their names, once the table has a column for each of its
   * fields: then nothing is rescued. Returns null where the row will not enter the table. It is judged as by {@link
   * #suppressed}, so what makes it bad may be in a side that it loses.
   */
  public List<List<String>> lostSides(LoadRequest.Source file) {
    boolean isNamed = suppression != null && (fits() ? suppression.holds(reader.values) : suppression.mentions(reader.raw()));
    if (isNamed && !fits() && !reader.readWithout(suppression.sideNames(), suppression::mentions)) {
      return null;
    }
    if (!fits() || columns.differing(file, reader.inFile) != null) {
      return null;
    }
    return isNamed ? suppression.lostSides(reader.values) : List.of();
  }

  /** Whether only fields that the table does not have are against the row. */
  private boolean fits() {
    return reader.bad == null || reader.unknown;
  }

  /** What of a row is left out. */
  public enum Suppressed {
    NOTHING,
    A_SIDE,
    ALL
  }
}
