/** What a client asks to be read, and how. */
package io.tidegate.load.request;
