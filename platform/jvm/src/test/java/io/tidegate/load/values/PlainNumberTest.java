package io.tidegate.load.values;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A number has one plain spelling. Python reads the same table ({@code test_plain_number.py}). */
public final class PlainNumberTest {
  @Test
  void eachSpellingHasThePlainOne() throws Exception {
    try (InputStream table = PlainNumberTest.class.getResourceAsStream("/numbers.json")) {
      for (JsonNode row : new ObjectMapper().readTree(table)) {
        for (JsonNode spelled : row.get("spelled")) {
          assertEquals(row.get("plain").textValue(), PlainNumber.of(spelled.asText()), spelled::asText);
        }
      }
    }
  }

  @Test
  void everyNumberHasOneInEachOfItsSpellings() {
    Random random = new Random(42);
    for (int i = 0; i < 5_000; i++) {
      BigDecimal value = new BigDecimal(new BigInteger(random.nextInt(130), random), random.nextInt(30));
      String wanted = value.signum() == 0 ? "0" : value.stripTrailingZeros().toPlainString();
      int shift = random.nextInt(91) - 45;
      String text = value.scaleByPowerOfTen(-shift).toPlainString();
      String zeros = "0".repeat(random.nextInt(45));
      String digits = "0".repeat(random.nextInt(3)) + text + (text.contains(".") ? zeros : "." + zeros);
      String exponent = shift < 0 ? "E-0" + -shift : "e00" + shift;
      boolean negative = random.nextBoolean() && value.signum() != 0;
      String spelled = (negative ? "-" : random.nextBoolean() ? "+" : "") + digits + exponent;
      assertEquals((negative ? "-" : "") + wanted, PlainNumber.of(spelled), spelled);
    }
  }

  @Test
  void aNumberOfManyMegabytesEnds() {
    String many = "0".repeat(5_000_000);
    assertNull(PlainNumber.of(many.replace('0', '9')));
    assertNull(PlainNumber.of(many + ".e"));
    assertEquals("1", PlainNumber.of("1." + many));
  }
}
