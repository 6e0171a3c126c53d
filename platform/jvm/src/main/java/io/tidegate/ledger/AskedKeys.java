package io.tidegate.ledger;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import org.apache.parquet.filter2.predicate.Statistics;
import org.apache.parquet.filter2.predicate.UserDefinedPredicate;
import org.apache.parquet.io.api.Binary;

/**
 * Keys that are looked up in a Parquet file.
 *
 * <p>Parquet's own {@code in} compares each row with one key after the other, and reads every page between the least
 * key and the greatest.
 */
final class AskedKeys extends UserDefinedPredicate<Binary> implements Serializable {
  private static final long serialVersionUID = 1;

  private static final Comparator<Binary> IN_BYTES =
      (a, b) -> Arrays.compareUnsigned(a.getBytesUnsafe(), b.getBytesUnsafe());

  private final transient Set<Binary> keys = new HashSet<>();
  private final transient TreeSet<Binary> sorted = new TreeSet<>(IN_BYTES);

  AskedKeys(Collection<String> keys) {
    keys.stream().map(Binary::fromString).forEach(this.keys::add);
    sorted.addAll(this.keys);
  }

  @Override
  public boolean keep(Binary key) {
    return keys.contains(key);
  }

  /**
   * Whether a page can have none of the keys. Bounds of a page may be cut: then the least is less, the greatest
   * greater.
   */
  @Override
  public boolean canDrop(Statistics<Binary> page) {
    Binary next = sorted.ceiling(page.getMin());
    return next == null || IN_BYTES.compare(next, page.getMax()) > 0;
  }

  @Override
  public boolean inverseCanDrop(Statistics<Binary> page) {
    return false;
  }
}
