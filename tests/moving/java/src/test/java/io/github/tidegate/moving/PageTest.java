package io.github.tidegate.moving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the tests of all pages have in common: each row of the page's tables has a test in which the code of the row stands word for
 * word, and both programs say the same.
 */
abstract class PageTest {
    private static final Path BASE = Path.of(System.getProperty("basedir"));
    private static final Pattern BLOCK = Pattern.compile("^```(\\w+)\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");

    private final String name;
    private final String text;

    PageTest(String name) throws Exception {
        this.name = name;
        text = Files.readString(BASE.resolve("../../../docs/moving/" + name + ".md"));
    }

    /** The page's blocks of code with a tag. */
    final List<String> blocks(String tag) {
        return BLOCK.matcher(text)
                .results()
                .filter(block -> block.group(1).equals(tag))
                .map(block -> block.group(2))
                .toList();
    }

    /** The rows of the page's tables that name a setting, as lines. */
    private List<String> rows() {
        return BLOCK.matcher(text)
                .replaceAll("")
                .lines()
                .filter(line -> line.startsWith("| ") && !line.contains(" | tidegate | "))
                .filter(line -> !line.startsWith("| --- "))
                .toList();
    }

    @Test
    void theCodeOfEachRowStandsInATestOfTheRow() throws Exception {
        Path source = BASE.resolve("src/test/java/" + getClass().getName().replace('.', '/') + ".java");
        String code = Files.readString(source);
        Set<String> untested = new TreeSet<>(rows());
        assertTrue(untested.size() > 3, "rows of " + name);
        for (Method method : getClass().getDeclaredMethods()) {
            Row about = method.getAnnotation(Row.class);
            if (about == null) {
                continue;
            }
            int start = code.indexOf("void " + method.getName() + "(");
            int end = code.indexOf("@Row", start);
            String body = code.substring(start, end < 0 ? code.length() : end).replaceAll("\\s", "");
            for (String beginning : about.value()) {
                List<String> found = rows().stream()
                        .filter(row -> row.startsWith("| " + beginning))
                        .toList();
                assertEquals(1, found.size(), "rows that begin with " + beginning);
                untested.remove(found.get(0));
                String cells =
                        String.join(" ", List.of(found.get(0).split(" \\| ")).subList(0, 2));
                CODE.matcher(cells).results().forEach(part -> {
                    String setting = part.group(1).replace("\\|", "|");
                    assertTrue(
                            body.contains(setting.replaceAll("\\s", "")),
                            method.getName() + "() has no " + setting + " in it");
                });
            }
        }
        assertEquals(Set.of(), untested);
    }

    @Test
    void theProgramsBeforeAndAfterSayTheSame(@TempDir Path folder) throws Exception {
        List<String> programs = blocks("java");
        assertEquals(2, programs.size());
        String before = run(programs.get(0), folder.resolve("before"));
        String after = run(programs.get(1), folder.resolve("after"));
        assertTrue(before.contains("go ahead"), before);
        assertEquals(before, after);
    }

    /** Compiles a program as pasted, runs it and returns what it prints. */
    static String run(String program, Path folder) throws Exception {
        Files.createDirectories(folder);
        String main = Pattern.compile("class (\\w+)")
                .matcher(program)
                .results()
                .map(MatchResult::group)
                .findFirst()
                .orElseThrow()
                .substring("class ".length());
        Path file = folder.resolve(main + ".java");
        Files.writeString(file, program);
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int failed = ToolProvider.getSystemJavaCompiler()
                .run(null, null, errors, "-cp", System.getProperty("java.class.path"), file.toString());
        assertEquals(0, failed, errors::toString);
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream out = System.out;
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
            Method start = loader.loadClass(main).getDeclaredMethod("main", String[].class);
            start.setAccessible(true);
            start.invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(out);
        }
        return said.toString(StandardCharsets.UTF_8);
    }

    /** Both admit the same of some hundred calls at random times, and refuse some of them. */
    static void assertAdmitTheSame(Duration step, BooleanSupplier theirs, BooleanSupplier ours) {
        Random choose = new Random(1);
        Set<Boolean> seen = new TreeSet<>();
        for (int call = 0; call < 400; call++) {
            if (choose.nextInt(3) == 0) {
                Time.advance(step.multipliedBy(choose.nextInt(8)));
            }
            boolean admitted = theirs.getAsBoolean();
            assertEquals(admitted, ours.getAsBoolean(), "call " + call);
            seen.add(admitted);
        }
        assertEquals(2, seen.size(), "some calls are admitted and some are refused");
    }

    /** How many of so many calls are admitted. */
    static int admitted(int calls, BooleanSupplier call) {
        List<Boolean> answers = new ArrayList<>();
        for (int number = 0; number < calls; number++) {
            answers.add(call.getAsBoolean());
        }
        return (int) answers.stream().filter(answer -> answer).count();
    }
}
