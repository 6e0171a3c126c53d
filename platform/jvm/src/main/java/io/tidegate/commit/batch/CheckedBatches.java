package io.tidegate.commit.batch;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The texts of batches that this server has checked, by digest, until they are committed. A digest stands for the whole
 * content, so a batch that is decided with the same digest need not be read again.
 */
public final class CheckedBatches {
  /** Characters of all texts together. */
  static final int MAX_CHARACTERS = 8 << 20;

  private static final Map<String, String> TEXTS = new LinkedHashMap<>();
  private static int characters;

  private CheckedBatches() {}

  /**
   * Keeps a text that was checked. The oldest ones leave.
   *
   * @param digest empty: it is not kept
   * @param text the whole batch
   */
  public static synchronized void keep(String digest, String text) {
    if (digest.isEmpty() || text.length() > MAX_CHARACTERS) {
      return;
    }
    take(digest);
    TEXTS.put(digest, text);
    characters += text.length();
    var oldest = TEXTS.entrySet().iterator();
    while (characters > MAX_CHARACTERS) {
      characters -= oldest.next().getValue().length();
      oldest.remove();
    }
  }

  /** Returns the text of a batch and forgets it; null if it is not kept. */
  static synchronized String take(String digest) {
    String text = TEXTS.remove(digest);
    if (text != null) {
      characters -= text.length();
    }
    return text;
  }
}
