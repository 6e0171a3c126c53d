package io.tidegate.load.rows;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * HMAC-SHA-256 of subjects with one key.
 *
 * <p>What depends on the key alone is computed once. Java's own {@code Mac} computes it for each text, and takes twice as long
 * for texts as short as an identity.
 */
public final class SubjectDigest {
  /** Bytes of a block of SHA-256. */
  private static final int BLOCK = 64;

  private static final byte INNER = 0x36;
  private static final byte OUTER = 0x5c;
  private static final byte[] DIGITS = "0123456789abcdef".getBytes(ISO_8859_1);

  /** The last key that a query asked for in this thread. */
  private static final ThreadLocal<SubjectDigest> LAST = new ThreadLocal<>();

  private final String name;
  private final MessageDigest inner;
  private final MessageDigest outer;

  /** Takes a key of at most 64 bytes. */
  SubjectDigest(byte[] key) {
    if (key.length > BLOCK) {
      throw new IllegalArgumentException("the key has more than " + BLOCK + " bytes");
    }
    name = HexFormat.of().formatHex(key);
    inner = begun(key, INNER);
    outer = begun(key, OUTER);
  }

  /**
   * Returns the digest of a subject in hexadecimal digits, and null for null. Queries call it with {@code java_method}, because
   * Spark has no function for it.
   *
   * @param key in hexadecimal digits
   */
  public static String of(String key, String subject) {
    if (subject == null) {
      return null;
    }
    SubjectDigest last = LAST.get();
    if (last == null || !last.name.equals(key)) {
      last = new SubjectDigest(HexFormat.of().parseHex(key));
      LAST.set(last);
    }
    return last.of(subject);
  }

  /** Returns the digest of a subject in hexadecimal digits. */
  String of(String subject) {
    byte[] inside = copy(inner).digest(subject.getBytes(UTF_8));
    byte[] digest = copy(outer).digest(inside);
    byte[] digits = new byte[2 * digest.length];
    for (int i = 0; i < digest.length; i++) {
      digits[2 * i] = DIGITS[(digest[i] >> 4) & 15];
      digits[2 * i + 1] = DIGITS[digest[i] & 15];
    }
    return new String(digits, ISO_8859_1);
  }

  private static MessageDigest begun(byte[] key, byte pad) {
    try {
      byte[] block = Arrays.copyOf(key, BLOCK);
      for (int i = 0; i < BLOCK; i++) {
        block[i] ^= pad;
      }
      MessageDigest begun = MessageDigest.getInstance("SHA-256");
      begun.update(block);
      return begun;
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static MessageDigest copy(MessageDigest begun) {
    try {
      return (MessageDigest) begun.clone();
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException(e);
    }
  }
}
