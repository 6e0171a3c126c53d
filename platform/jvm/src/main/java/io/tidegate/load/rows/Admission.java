package io.tidegate.load.rows;

import io.tidegate.load.request.LoadRequest;
import java.util.List;

/** Which rows of a reader enter the table: the one answer for a load and for inference. */
public final class Admission {
  private final RowReader reader;
  private final TableColumns columns;
  private final Suppression suppression;
  /** Of the row that may enter: the sides of a change that it loses, by their names. */
  public List<List<String>> lostSides = List.of();

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
   * Whether the row is of a suppressed subject. Without a subject in its column, because it is bad or the subject is
   * rescued, it is searched as text. Of a change, a side of another subject stays, unless the text of the row is kept.
   */
  public Suppressed suppressed(String bad) {
    if (suppression == null) {
      return Suppressed.NOTHING;
    }
    boolean isWhole = reader.bad == null && reader.rescued.object() == null;
    if (reader.bad == null && suppression.holds(reader.values)) {
      boolean stays = isWhole && bad == null && suppression.keepsSide(reader.values);
      return stays ? Suppressed.A_SIDE : Suppressed.ALL;
    }
    return !isWhole && suppression.mentions(reader.raw()) ? Suppressed.ALL : Suppressed.NOTHING;
  }

  /**
   * Whether the row will enter the table once that has a column for each of its fields: then nothing is rescued. Sets
   * {@link #lostSides}.
   */
  public boolean mayEnter(LoadRequest.Source file) {
    if ((reader.bad != null && !reader.unknown) || columns.differing(file, reader.inFile) != null) {
      return false;
    }
    boolean isSuppressed = suppression != null && suppression.holds(reader.values);
    lostSides = isSuppressed ? suppression.lostSides(reader.values) : List.of();
    return lostSides != null;
  }

  /** What of a row is left out. */
  public enum Suppressed {
    NOTHING,
    A_SIDE,
    ALL
  }
}
