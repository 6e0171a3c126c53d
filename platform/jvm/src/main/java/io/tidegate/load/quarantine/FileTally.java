package io.tidegate.load.quarantine;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.Serializable;

/** Counts of the rows of one file, or of a part of it, and a reason of the bad ones. */
public final class FileTally implements Serializable {
  @JsonProperty public long good;
  @JsonProperty long bad;
  /** Rows that may show that the whole file was misread. */
  @JsonProperty public long suspect;
  /** Rows that would fit, but for fields that the table does not have: they are bad, or the fields are rescued. */
  @JsonProperty long unknown;
  /**
   * Lines that are not complete rows on their own: a quoted cell continues in the next, or is not as RFC 4180 has it.
   */
  @JsonProperty public long torn;
  /** Rows of suppressed subjects: they are neither good nor bad. */
  @JsonProperty public long suppressed;
  /** Good rows that lack the side of a change that a suppressed subject has. */
  @JsonProperty public long blanked;
  /** The reason of one bad row: of all, the first in alphabetical order. */
  @JsonProperty public String why;

  /** Returns how many rows are bad. */
  public long bad() {
    return bad;
  }

  public void good(boolean isUnknown) {
    good++;
    unknown += isUnknown ? 1 : 0;
  }

  public void bad(String reason, boolean isUnknown) {
    bad++;
    unknown += isUnknown ? 1 : 0;
    reason = Reason.cut(reason, Reason.MAX_CHARS);
    why = why == null || reason.compareTo(why) < 0 ? reason : why;
  }

  FileTally plus(FileTally other) {
    FileTally sum = new FileTally();
    sum.good = good + other.good;
    sum.bad = bad + other.bad;
    sum.suspect = suspect + other.suspect;
    sum.unknown = unknown + other.unknown;
    sum.torn = torn + other.torn;
    sum.suppressed = suppressed + other.suppressed;
    sum.blanked = blanked + other.blanked;
    sum.why = why == null || (other.why != null && other.why.compareTo(why) < 0) ? other.why : why;
    return sum;
  }
}
