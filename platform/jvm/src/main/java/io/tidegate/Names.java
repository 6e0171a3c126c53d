package io.tidegate;

/** How names of columns are compared: as Spark does, and as {@code folded} of the Python package. */
public final class Names {
  private Names() {}

  /**
   * Returns the form in which names are compared. Two names have one form exactly if {@link String#equalsIgnoreCase}
   * says that they are equal, which is what Spark asks. {@code toLowerCase} differs: for Spark the micro sign is the
   * Greek letter mu.
   */
  public static String folded(String name) {
    int[] letters = name.codePoints().map(letter -> Character.toLowerCase(Character.toUpperCase(letter))).toArray();
    return new String(letters, 0, letters.length);
  }
}
