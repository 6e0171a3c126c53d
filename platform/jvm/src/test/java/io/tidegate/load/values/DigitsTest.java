package io.tidegate.load.values;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A text becomes a decimal in little time, whatever it claims. */
public final class DigitsTest {
  private static final List<String> ENDS =
      List.of("0", "1", "38", "9999", "300000000", "999999999", "1000000000", "2147483647", "2147483648", "1" + "0".repeat(30));
  private static final List<String> BODIES =
      List.of("0", "1", "9".repeat(38), "1".repeat(1_000), "0." + "1".repeat(1_000), "1".repeat(1_000_000), ".5", "1.");

  @Test
  void aTextOfEverySignExponentAndLengthIsComparedInTime() {
    assertTimeout(
        Duration.ofSeconds(90),
        () -> {
          for (String body : BODIES) {
            for (String sign : List.of("", "-", "+")) {
              for (String exponent : List.of("e", "E-", "E+", "E-000")) {
                for (String end : ENDS) {
                  String text = sign + body + exponent + end;
                  BigDecimal exact = Digits.exact(text);
                  assertEquals(Digits.isNumber(text), exact != null, text);
                  Digits.isKeptBy(text, Double.parseDouble(text));
                }
              }
            }
          }
        });
  }

  @Test
  void onlyTheDigitsOfAnExponentBehindItsZerosCount() {
    assertEquals(new BigDecimal("0.00001"), Digits.exact("1e-00000000005"));
    assertNull(Digits.exact("1e1000000000"));
    assertNull(Digits.exact("1".repeat(Digits.MAX_LENGTH + 1)));
    assertNull(Digits.exact("1e\u0661"));
  }
}
