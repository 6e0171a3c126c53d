package io.tidegate.storage;

import io.tidegate.storage.protocol.Clocks;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * What this server learned within the last minute, by what it is about. It need not be asked for again.
 *
 * <p>Both clocks must agree that it was so recent, because a process may be suspended.
 */
public final class RecentlyKnown<K, V> {
  /** Milliseconds: what the log store takes for the age of a head, too. */
  static final long FRESH = 60_000;

  private record Fact<T>(T value, Clocks.Moment at) {}

  private final Clocks clocks;
  private final Map<K, Fact<V>> facts;

  private RecentlyKnown(Clocks clocks, Map<K, Fact<V>> facts) {
    this.clocks = clocks;
    this.facts = facts;
  }

  /** Facts about objects. They end with the object. */
  public static <K, V> RecentlyKnown<K, V> ofObjects() {
    return new RecentlyKnown<>(Clocks.system(), new WeakHashMap<>());
  }

  /**
   * Facts by key.
   *
   * @param most the oldest of more facts leave
   */
  public static <K, V> RecentlyKnown<K, V> ofKeys(int most) {
    return ofKeys(most, Clocks.system());
  }

  static <K, V> RecentlyKnown<K, V> ofKeys(int most, Clocks clocks) {
    Map<K, Fact<V>> facts =
        new LinkedHashMap<>() {
          @Override
          protected boolean removeEldestEntry(Map.Entry<K, Fact<V>> eldest) {
            return size() > most;
          }
        };
    return new RecentlyKnown<>(clocks, facts);
  }

  public Clocks.Moment now() {
    return clocks.now();
  }

  /**
   * Records a fact.
   *
   * @param at a moment before it was learned: a pause in between makes it old
   */
  public synchronized void learn(K key, V value, Clocks.Moment at) {
    facts.remove(key); // so that the oldest are the first ones
    Clocks.Moment now = clocks.now();
    Iterator<Fact<V>> oldest = facts.values().iterator();
    while (oldest.hasNext() && now.since(oldest.next().at()) >= FRESH) {
      oldest.remove();
    }
    facts.put(key, new Fact<>(value, at));
  }

  /** Whether that is what was learned last about the key, within the last minute. */
  public synchronized boolean holds(K key, V value) {
    Fact<V> fact = facts.get(key);
    return fact != null && fact.value().equals(value) && clocks.now().since(fact.at()) < FRESH;
  }

  /** The number of facts, a seam for tests. */
  synchronized int size() {
    return facts.size();
  }
}
