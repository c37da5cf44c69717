package io.github.tidegate;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ref.Cleaner;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.stream.Stream;

/** Loads the native library that the jar brings along: once for each class loader, from a file of its own. */
final class NativeLibrary {
    /** The system property that names a library to load instead. */
    static final String PATH_PROPERTY = "tidegate.library.path";

    /** Frees what native memory holds once the Java object in front of it is gone. */
    static final Cleaner CLEANER = Cleaner.create();

    /**
     * The classes with native methods. JNI_OnLoad binds them from this list, in this order: looking them up by name would
     * initialize them, each of which waits for this class.
     */
    static final Class<?>[] BOUND = {
        Clock.class,
        ManualClock.class,
        Quota.class,
        Keys.class,
        RateLimiter.class,
        ConcurrencyLimiter.class,
        KeyedRateLimiter.class,
        KeyedConcurrencyLimiter.class,
        Waits.class,
        Gate.class,
        GateWaiting.class,
        Entering.class,
        GateRefusedException.class,
        GateListener.class,
        Entry.class
    };

    static {
        load();
    }

    private NativeLibrary() {}

    /** Makes sure that the library is loaded. */
    static void require() {}

    /** Where the library of a platform lies in the jar, such as {@code /native/linux-x86_64-musl/libtidegate_jni.so}. */
    static String resource(String system, String processor, boolean musl) {
        String name = system.toLowerCase(Locale.ROOT);
        String family = name.startsWith("mac") ? "macos" : name.startsWith("windows") ? "windows" : name;
        String architecture = processor.equals("amd64") ? "x86_64" : processor;
        return "/native/" + family + "-" + architecture + (musl ? "-musl" : "") + "/"
                + System.mapLibraryName("tidegate_jni");
    }

    @SuppressWarnings("restricted")
    private static void load() {
        String path = System.getProperty(PATH_PROPERTY);
        if (path != null) {
            System.load(Path.of(path).toAbsolutePath().toString());
            return;
        }
        String resource = resource(System.getProperty("os.name"), System.getProperty("os.arch"), runsOnMusl());
        try {
            Path file = Files.createTempFile("tidegate", System.mapLibraryName(""));
            try {
                unpack(resource, file);
                System.load(file.toString());
            } finally {
                // Where a loaded library may be deleted, nothing is left behind, whatever becomes of the process.
                if (!file.toFile().delete()) {
                    file.toFile().deleteOnExit();
                }
            }
        } catch (IOException | UnsatisfiedLinkError e) {
            UnsatisfiedLinkError error = new UnsatisfiedLinkError("tidegate's native library " + resource
                    + " can't be loaded by way of " + System.getProperty("java.io.tmpdir")
                    + " (another folder: -Djava.io.tmpdir;"
                    + " another library: -D" + PATH_PROPERTY + "): " + e.getMessage());
            error.initCause(e);
            throw error;
        }
    }

    private static void unpack(String resource, Path file) throws IOException {
        try (InputStream library = NativeLibrary.class.getResourceAsStream(resource)) {
            if (library == null) {
                throw new IOException("the jar holds none for this platform");
            }
            Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    /** Whether this process runs on musl, the other C library of Linux: told by what is mapped into it. */
    private static boolean runsOnMusl() {
        Path maps = Path.of("/proc/self/maps");
        if (!Files.isReadable(maps)) {
            return false;
        }
        try (Stream<String> lines = Files.lines(maps, StandardCharsets.ISO_8859_1)) {
            return lines.anyMatch(line -> line.contains("/ld-musl-"));
        } catch (IOException | UncheckedIOException e) {
            return false;
        }
    }
}
