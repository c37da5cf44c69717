/**
 * Exact, fast, in-process limiters: {@link io.github.tidegate.RateLimiter} (so many per time) and {@link
 * io.github.tidegate.ConcurrencyLimiter} (so many at once); {@link io.github.tidegate.KeyedRateLimiter} and {@link
 * io.github.tidegate.KeyedConcurrencyLimiter} do so for each key, such as a user or an address.
 *
 * <p>Every call may come from any thread at once. A decision is one atomic step, exact under any interleaving; a refusal
 * changes nothing. Being refused is a value, not an exception, except from {@code run} and {@code call}. A wrong argument is
 * an {@link java.lang.IllegalArgumentException}, namely a {@link io.github.tidegate.ConfigException}, that reads {@code
 * ARGUMENT: got VALUE; allowed: WHAT}, or a {@link java.lang.NullPointerException} in the same form.
 *
 * <p>Nothing need be closed but permits: a {@link java.lang.ref.Cleaner} frees limiters and clocks that nothing refers to.
 *
 * <p>The work is done by a native library that the jar brings along. It is unpacked into the temporary folder
 * ({@code java.io.tmpdir}); the system property {@code tidegate.library.path} names a file to load instead.
 *
 * <p>From Java 24 on, the JVM warns of native code that nobody asked for. To ask for it:
 *
 * <ul>
 *   <li>on the module path, {@code java --enable-native-access=io.github.tidegate};
 *   <li>on the class path, {@code java --enable-native-access=ALL-UNNAMED};
 *   <li>for a program that is started by {@code java -jar}, the line {@code Enable-Native-Access: ALL-UNNAMED} in the manifest
 *       of its jar.
 * </ul>
 */
package io.github.tidegate;
