/** Lines of text, whose cells a pattern finds. */
package io.tidegate.load.text;
