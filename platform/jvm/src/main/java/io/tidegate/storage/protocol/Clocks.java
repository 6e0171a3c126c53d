package io.tidegate.storage.protocol;

import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;

/** Time as the protocol needs it. */
public interface Clocks {
  /** A moment on both clocks: the wall clock runs while the machine sleeps, and the monotonic clock is never set. */
  record Moment(long wallMillis, long monotonicMillis) {
    /** Milliseconds by which a synchronized wall clock may go back. */
    private static final long CORRECTION = 1000;

    /**
     * Returns the milliseconds since an earlier moment, by the clock that shows more. A wall clock set back counts as
     * forever.
     */
    public long since(Moment earlier) {
      long wall = wallMillis - earlier.wallMillis;
      return wall < -CORRECTION ? Long.MAX_VALUE : Math.max(wall, monotonicMillis - earlier.monotonicMillis);
    }
  }

  /** Returns the present moment. */
  Moment now();

  /** Waits. */
  void pause(long millis) throws InterruptedIOException;

  /** The clocks of the machine. */
  static Clocks system() {
    return new Clocks() {
      @Override
      public Moment now() {
        return new Moment(System.currentTimeMillis(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
      }

      @Override
      public void pause(long millis) throws InterruptedIOException {
        try {
          Thread.sleep(millis);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new InterruptedIOException("interrupted while another writer was given time to publish its commit");
        }
      }
    };
  }
}
