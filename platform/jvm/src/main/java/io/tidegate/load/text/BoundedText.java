package io.tidegate.load.text;

/**
 * A text that a pattern may ask for a bounded number of characters. The pattern is the operator's and the text a
 * producer's: of some patterns, a crafted line would take hours.
 */
final class BoundedText implements CharSequence {
  /** Characters that are asked for: some for each of the text, and some at any rate. */
  private static final long STEPS_OF_A_CHARACTER = 200;

  private static final long FIRST_STEPS = 10_000;

  /** A second, about, however long the text is: a task reads many lines, and has an hour for them. */
  private static final long MAX_STEPS = 100_000_000;

  private final String text;
  private long left;

  BoundedText(String text) {
    this.text = text;
    left = Math.min(FIRST_STEPS + STEPS_OF_A_CHARACTER * text.length(), MAX_STEPS);
  }

  @Override
  public char charAt(int place) {
    if (--left < 0) {
      throw new TooManySteps();
    }
    return text.charAt(place);
  }

  @Override
  public int length() {
    return text.length();
  }

  @Override
  public CharSequence subSequence(int start, int end) {
    return text.subSequence(start, end);
  }

  @Override
  public String toString() {
    return text;
  }

  /** The pattern asked for more characters. */
  static final class TooManySteps extends RuntimeException {
    private static final long serialVersionUID = 1;

    TooManySteps() {
      super(null, null, false, false); // Without a stack: a file may have many such lines.
    }
  }
}
