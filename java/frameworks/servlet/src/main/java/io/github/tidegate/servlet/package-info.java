/** A {@link io.github.tidegate.Gate} in front of servlets: {@link io.github.tidegate.servlet.GateFilter}. */
package io.github.tidegate.servlet;
