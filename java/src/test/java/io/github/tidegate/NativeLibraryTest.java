package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NativeLibraryTest {
    private static final String LIBRARY = System.mapLibraryName("tidegate_jni");

    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, false, linux-x86_64",
        "Linux, amd64, true, linux-x86_64-musl",
        "Linux, aarch64, false, linux-aarch64",
        "Mac OS X, aarch64, false, macos-aarch64",
        "Mac OS X, x86_64, false, macos-x86_64",
        "Windows Server 2022, amd64, false, windows-x86_64",
    })
    void eachPlatformHasAFolderInTheJar(String system, String processor, boolean musl, String folder) {
        assertEquals("/native/" + folder + "/" + LIBRARY, NativeLibrary.resource(system, processor, musl));
    }

    @Test
    void theLibraryExportsOnlyWhatTheJvmCallsWhenItLoadsIt() throws Exception {
        Path library;
        try (Stream<Path> files = Files.walk(Project.CLASSES.resolve("native"))) {
            library = files.filter(file -> file.endsWith(LIBRARY)).findFirst().orElseThrow();
        }
        Process nm = new ProcessBuilder("nm", "-D", "--defined-only", "--format=just-symbols", library.toString())
                .redirectErrorStream(true)
                .start();
        String symbols = new String(nm.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, nm.waitFor(), symbols);
        assertEquals(List.of("JNI_OnLoad"), symbols.lines().toList());
    }

    @Test
    void theJarHoldsTheLicences() throws Exception {
        for (String licence : List.of("LICENSE-APACHE", "LICENSE-MIT")) {
            assertEquals(
                    Files.readString(Project.ROOT.resolve(licence)),
                    Files.readString(Project.CLASSES.resolve("META-INF").resolve(licence)));
        }
    }

    /** A receiver is reachable while its native method runs; the limiter of a static one may be freed meanwhile. */
    @Test
    void everyNativeMethodOfALimiterOrClockHasItForReceiver() {
        Set<String> withoutAReceiver =
                Set.of("create0", "free0", "parse0", "join0", "ip0", "begun0", "fetch0", "giveBack0", "take0");
        for (Class<?> bound : NativeLibrary.BOUND) {
            for (Method method : bound.getDeclaredMethods()) {
                if (Modifier.isNative(method.getModifiers())) {
                    assertEquals(
                            withoutAReceiver.contains(method.getName()),
                            Modifier.isStatic(method.getModifiers()),
                            method.toString());
                }
            }
        }
    }

    /** A loader that sees our classes anew, and none of this test's. */
    private static URLClassLoader loader() throws Exception {
        return new URLClassLoader(new URL[] {Project.CLASSES.toUri().toURL()}, null);
    }

    private static Object limiter(ClassLoader loader, String quota) throws Exception {
        return loader.loadClass("io.github.tidegate.RateLimiter")
                .getMethod("of", String.class, String[].class)
                .invoke(null, quota, new String[0]);
    }

    private static boolean tryAcquire(Object limiter, long cost) throws Exception {
        Method method = limiter.getClass().getMethod("tryAcquire", long.class);
        return (boolean) method.invoke(limiter, cost);
    }

    /** Makes a limiter that lends a permit and has it back. */
    private static void lend(ClassLoader loader) throws Exception {
        Class<?> type = loader.loadClass("io.github.tidegate.ConcurrencyLimiter");
        Object limiter = type.getMethod("of", long.class).invoke(null, 1);
        type.getMethod("run", Runnable.class).invoke(limiter, (Runnable) () -> {});
    }

    @Test
    void classLoadersThatLoadTheLibraryAtOnceEachGetTheirOwn() throws Exception {
        for (int round = 0; round < 10; round++) {
            Object[] limiters = new Object[4];
            URLClassLoader[] loaders = new URLClassLoader[limiters.length];
            for (int i = 0; i < loaders.length; i++) {
                loaders[i] = loader();
            }
            Threads.together(limiters.length, thread -> limiters[thread] = limiter(loaders[thread], "5/h"));
            assertNotSame(limiters[0].getClass(), limiters[1].getClass());
            for (Object limiter : limiters) {
                assertTrue(tryAcquire(limiter, 5));
            }
            for (URLClassLoader loader : loaders) {
                loader.close();
            }
        }
    }

    @Test
    void threadsThatUseTheirFirstLimitersAtOnceDoNotWaitForOneAnother() throws Exception {
        List<String> classes = List.of(
                "RateLimiter",
                "ConcurrencyLimiter",
                "Quota",
                "ManualClock",
                "Clock",
                "Permit",
                "Keys",
                "KeyedRateLimiter",
                "KeyedConcurrencyLimiter");
        for (int round = 0; round < 20; round++) {
            try (URLClassLoader loader = loader()) {
                Threads.together(
                        classes.size(),
                        thread -> Class.forName("io.github.tidegate." + classes.get(thread), true, loader));
            }
        }
    }

    @Test
    void aClassLoaderIsCollectedThoughAThreadThatUsedItsLibraryLivesOn() throws Exception {
        CountDownLatch used = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Object[] holder = {limiter(loader(), "5/h")};
        Thread thread = new Thread(() -> {
            try {
                assertTrue(tryAcquire(holder[0], 1));
                lend(holder[0].getClass().getClassLoader());
                used.countDown();
                end.await();
            } catch (Exception failed) {
                throw new AssertionError(failed);
            }
        });
        thread.start();
        used.await();
        WeakReference<ClassLoader> loader =
                new WeakReference<>(holder[0].getClass().getClassLoader());
        holder[0] = null;
        for (int round = 0; round < 500 && loader.get() != null; round++) {
            System.gc();
            Thread.sleep(10);
        }
        assertNull(loader.get());
        // What the library keeps for a thread goes with the thread, after the class loader is gone.
        end.countDown();
        thread.join();
    }

    @Test
    void limitersThatNothingRefersToGiveTheirMemoryBack() throws Exception {
        long settled = 0;
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 10_000; i++) {
                assertTrue(RateLimiter.of("5/s").tryAcquire());
            }
            System.gc();
            Thread.sleep(100);
            if (round == 1) {
                settled = residentKilobytes();
            }
        }
        long grown = residentKilobytes() - settled;
        // 80,000 limiters of more than 2 kB each would be 160 MB.
        assertTrue(grown < 80_000, "grown by " + grown + " kB");
    }

    private static long residentKilobytes() throws Exception {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                .findFirst()
                .orElseThrow();
    }
}
