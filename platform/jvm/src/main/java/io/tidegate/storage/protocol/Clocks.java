package io.tidegate.storage.protocol;

import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;

/** Time as the protocol needs it. */
public interface Clocks {
  /** A moment on both clocks: the wall's stops for nobody, the monotonic one is set by nobody. */
  record Moment(long wallMillis, long monotonicMillis) {
    /** Milliseconds by which a wall clock goes back while it is kept right, with nobody having stood still. */
    private static final long CORRECTION = 1000;

    /** Milliseconds since an earlier moment by the clock that says more; a wall clock set back counts as for ever. */
    public long since(Moment earlier) {
      long wall = wallMillis - earlier.wallMillis;
      return wall < -CORRECTION ? Long.MAX_VALUE : Math.max(wall, monotonicMillis - earlier.monotonicMillis);
    }
  }

  /** Now. */
  Moment now();

  /** Waits. */
  void pause(long millis) throws InterruptedIOException;

  /** The machine's clocks. */
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
