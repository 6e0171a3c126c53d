/** The procedures that change silver tables. */
package io.tidegate.procedures.silver;
