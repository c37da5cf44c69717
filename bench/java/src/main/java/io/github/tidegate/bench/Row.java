package io.github.tidegate.bench;

import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What is printed for each subject of a case: a line of JSON, which {@code bench/run.py} reads. */
final class Row {
    private static final Pattern VERSION = Pattern.compile("-(\\d.*)\\.jar$");

    private static final PrintStream ROWS = System.out;

    private Row() {}

    /** Keeps what peers say from among the rows. */
    static void claimOutput() {
        System.setOut(System.err);
    }

    /** Prints the median and the tenth and ninetieth percentile of the figures, in any order. */
    static void print(String name, String subject, String version, String unit, double[] figures) {
        double[] rising = figures.clone();
        Arrays.sort(rising);
        int last = rising.length - 1;
        ROWS.printf(
                Locale.ROOT,
                "{\"language\": \"java\", \"case\": \"%s\", \"subject\": \"%s\", \"%s\": %.2f, \"spread\": [%.2f,"
                        + " %.2f], \"rounds\": %d, \"version\": \"%s\"}%n",
                name,
                subject,
                unit,
                rising[last / 2],
                rising[last / 10],
                rising[last - last / 10],
                rising.length,
                version);
    }

    /** The version of what a class belongs to: that of its jar, or of Java itself. */
    static String version(Class<?> part) {
        if (part.getProtectionDomain().getCodeSource() == null) {
            return System.getProperty("java.version");
        }
        Matcher jar = VERSION.matcher(source(part).getFileName().toString());
        if (!jar.find()) {
            throw new IllegalStateException("no version in the name of " + source(part));
        }
        return jar.group(1);
    }

    /** The jar or folder that a class was loaded from. */
    static Path source(Class<?> part) {
        return Path.of(URI.create(
                part.getProtectionDomain().getCodeSource().getLocation().toString()));
    }
}
