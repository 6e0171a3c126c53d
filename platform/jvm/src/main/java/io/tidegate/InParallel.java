package io.tidegate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Work on many items that waits for a store: several threads do it. */
public final class InParallel {
  private InParallel() {}

  /** Work on one item. */
  public interface Work<I, O> {
    O on(I item) throws Exception;
  }

  /**
   * Returns the results in the order of the items.
   *
   * @param doing what is done, as an error begins: "naming tables"
   * @throws UncheckedIOException when the work on an item fails with an {@code IOException}
   * @throws IllegalStateException when it fails otherwise, or this thread is interrupted
   */
  public static <I, O> List<O> each(Collection<I> items, int maxThreads, String doing, Work<I, O> work) {
    if (items.isEmpty()) {
      return List.of();
    }
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(maxThreads, items.size()));
    try {
      List<Future<O>> answers = new ArrayList<>();
      for (I item : items) {
        answers.add(pool.submit(() -> work.on(item)));
      }
      List<O> results = new ArrayList<>();
      for (Future<O> answer : answers) {
        results.add(answer.get());
      }
      return results;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(doing + " was interrupted", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException io) {
        throw new UncheckedIOException(doing + " failed: " + io.getMessage(), io);
      }
      throw new IllegalStateException(doing + " failed: " + e.getCause(), e.getCause());
    } finally {
      pool.shutdownNow();
    }
  }
}
