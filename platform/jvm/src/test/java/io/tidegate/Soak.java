package io.tidegate;

/** How far tests go that generate their input: some of it in each run, and much of it with {@code make soak}. */
public final class Soak {
  private static final boolean IS_ON = Boolean.getBoolean("soak");

  private Soak() {}

  /** Returns the number for this run. */
  public static int courses(int some, int many) {
    return IS_ON ? many : some;
  }
}
