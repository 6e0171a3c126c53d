package io.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

class NamesTest {
  /** As in {@code tests/unit/platform/core/schema/test_column_types.py}. */
  private static final String FORMS = "77671f3600008eeb3925b12434474bf65a89956bcff2f8622ae13b2da35e28b4";

  @Test
  void theFormOfEveryLetterIsTheOneOfPython() throws Exception {
    StringBuilder forms = new StringBuilder();
    for (int letter = 0; letter < 0x20000; letter++) {
      if ((letter < 0xD800 || letter >= 0xE000) && !isNewer(letter)) {
        forms.append(Names.folded(Character.toString(letter)));
      }
    }
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(forms.toString().getBytes(StandardCharsets.UTF_8));
    assertEquals(FORMS, HexFormat.of().formatHex(digest));
  }

  /** Every pair of letters of the first plane that have another case. */
  @Test
  void twoNamesHaveOneFormWhereJavaTakesThemForEqual() {
    String[] letters =
        java.util.stream.IntStream.range(0, 0xFFFF)
            .filter(letter -> letter < 0xD800 || letter >= 0xE000)
            .filter(letter -> Character.toUpperCase(letter) != letter || Character.toLowerCase(letter) != letter)
            .mapToObj(Character::toString)
            .toArray(String[]::new);
    String[] forms = java.util.Arrays.stream(letters).map(Names::folded).toArray(String[]::new);
    for (int i = 0; i < letters.length; i++) {
      for (int j = 0; j < letters.length; j++) {
        if (letters[i].equalsIgnoreCase(letters[j]) != forms[i].equals(forms[j])) {
          assertEquals(letters[i], letters[j]);
        }
      }
    }
  }

  private static boolean isNewer(int letter) {
    return letter == 0x2C2F
        || letter == 0x2C5F
        || (letter >= 0xA7C0 && letter < 0xA7E0)
        || (letter >= 0x10570 && letter < 0x105C0)
        || (letter >= 0x10D50 && letter < 0x10D90)
        || (letter >= 0x16EA0 && letter < 0x16EE0);
  }
}
