/**
 * Exact, fast, in-process limiters: {@link io.github.tidegate.RateLimiter} (so many per time) and {@link
 * io.github.tidegate.ConcurrencyLimiter} (so many at once).
 *
 * <p>Every call may come from any thread at once. A decision is one atomic step, exact under any interleaving; a refusal
 * changes nothing. Being refused is a value, not an exception, except from {@code run} and {@code call}. A wrong argument is
 * an {@link java.lang.IllegalArgumentException} that reads {@code ARGUMENT: got VALUE; allowed: WHAT}, or a {@link
 * java.lang.NullPointerException} in the same form.
 *
 * <p>The work is done by a native library that the jar brings along. It is unpacked into the temporary folder
 * ({@code java.io.tmpdir}); the system property {@code tidegate.library.path} names a file to load instead. From Java 24 on,
 * {@code --enable-native-access=io.github.tidegate} (or {@code ALL-UNNAMED}, on the class path) says that this is wanted.
 */
package io.github.tidegate;
