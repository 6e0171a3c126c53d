package io.tidegate.load.csv;

import io.tidegate.Names;
import java.util.Arrays;
import java.util.List;

/**
 * The names of a header. A row that has them all is the header again, which is not data: in any order, in any case, and
 * with blanks around them.
 */
final class HeaderNames {
  private final String[] inOrder;
  private final String[] sorted;
  /** The bytes with which a name may begin: most rows of data differ in their first cell. */
  private final boolean[] begins = new boolean[256];

  /**
   * @param unnamed the places of its empty cells, which have a name all the same
   */
  HeaderNames(List<String> names, List<Integer> unnamed) {
    inOrder = new String[names.size()];
    for (int i = 0; i < inOrder.length; i++) {
      inOrder[i] = unnamed.contains(i) ? "" : name(names.get(i));
    }
    sorted = inOrder.clone();
    Arrays.sort(sorted);
    for (int i = 0; i < begins.length; i++) {
      begins[i] = i >= 0x80 || i <= ' ';
    }
    for (String name : inOrder) {
      char first = name.isEmpty() ? ' ' : name.charAt(0);
      if (first < 0x80) {
        begins[first] = begins[Character.toUpperCase(first)] = true;
      }
    }
  }

  /** Whether the cells of a row are the names. */
  boolean isIn(CsvRows row) {
    if (inOrder.length == 0 || !mayBegin(row)) {
      return false;
    }
    String[] cells = cells(row);
    Arrays.sort(cells);
    return Arrays.equals(sorted, cells);
  }

  boolean isInOrder(CsvRows row) {
    return Arrays.equals(inOrder, cells(row));
  }

  private boolean mayBegin(CsvRows row) {
    return row.to[0] <= row.from[0] || begins[row.bytes[0][row.from[0]] & 0xFF];
  }

  private static String[] cells(CsvRows row) {
    String[] cells = new String[row.width];
    for (int i = 0; i < cells.length; i++) {
      cells[i] = row.to[i] < 0 ? "" : name(row.text(i));
    }
    return cells;
  }

  private static String name(String cell) {
    return Names.folded(cell.strip());
  }
}
