package io.tidegate.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.Serializable;

/** How many rows of one file, or of a part of it, can enter the table, and what is said of the others. */
public final class FileTally implements Serializable {
  @JsonProperty long good;
  @JsonProperty long bad;
  /** Rows that may show that the whole file was misread. */
  @JsonProperty long suspect;
  /** Of the bad ones, those that only have fields which the table has not. */
  @JsonProperty long unknown;
  /** Lines that cannot be read each for itself: a quote goes on in the next one, or is not as RFC 4180 says. */
  @JsonProperty long torn;
  /** The reason of one bad row. */
  @JsonProperty String why;

  /** How many rows are bad. */
  public long bad() {
    return bad;
  }

  void bad(String reason, boolean isUnknown) {
    bad++;
    unknown += isUnknown ? 1 : 0;
    reason = Reason.cut(reason, Reason.MOST);
    why = why == null || reason.compareTo(why) < 0 ? reason : why;
  }

  FileTally plus(FileTally other) {
    FileTally sum = new FileTally();
    sum.good = good + other.good;
    sum.bad = bad + other.bad;
    sum.suspect = suspect + other.suspect;
    sum.unknown = unknown + other.unknown;
    sum.torn = torn + other.torn;
    sum.why = why == null || (other.why != null && other.why.compareTo(why) < 0) ? other.why : why;
    return sum;
  }
}
