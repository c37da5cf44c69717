package io.github.tidegate;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as the native library writes it, which is always right: maps, lists, {@code String}, {@code Long} where the number is whole, else
 * {@code Double}, {@code Boolean}, null. Numbers that a {@code Long} can't hold are its largest.
 */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object parse(byte[] text) {
        return new Json(new String(text, StandardCharsets.UTF_8)).value();
    }

    static Object field(Object object, String name) {
        return ((Map<?, ?>) object).get(name);
    }

    static String text(Object object, String name) {
        return (String) field(object, name);
    }

    static long number(Object object, String name) {
        return (Long) field(object, name);
    }

    static List<?> list(Object list) {
        return (List<?>) list;
    }

    static List<String> texts(Object list) {
        return list(list).stream().map(String.class::cast).toList();
    }

    /** A text as JSON writes it. */
    static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char character = text.charAt(i);
            if (character == '"' || character == '\\') {
                quoted.append('\\').append(character);
            } else if (character < ' ') {
                quoted.append(String.format("\\u%04x", (int) character));
            } else {
                quoted.append(character);
            }
        }
        return quoted.append('"').toString();
    }

    private Object value() {
        return switch (next()) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    /** The next character that isn't space; it is read again. */
    private char next() {
        while (text.charAt(at) <= ' ') {
            at++;
        }
        return text.charAt(at);
    }

    /** Whether there is another value before the end: reads what opens the list, parts its values, or ends it. */
    private boolean more(char end) {
        char character = next();
        at++;
        if (character == end || character == ',') {
            return character == ',';
        }
        if (next() == end) {
            at++;
            return false;
        }
        return true;
    }

    private Map<String, Object> object() {
        Map<String, Object> fields = new LinkedHashMap<>();
        while (more('}')) {
            next();
            String name = string();
            next();
            at++; // the colon
            fields.put(name, value());
        }
        return fields;
    }

    private List<Object> array() {
        List<Object> values = new ArrayList<>();
        while (more(']')) {
            values.add(value());
        }
        return values;
    }

    private Object word(String word, Object value) {
        at += word.length();
        return value;
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char character = text.charAt(at);
            if (character != '\\') {
                string.append(character);
                continue;
            }
            switch (text.charAt(++at)) {
                case 'b' -> string.append('\b');
                case 'f' -> string.append('\f');
                case 'n' -> string.append('\n');
                case 'r' -> string.append('\r');
                case 't' -> string.append('\t');
                case 'u' -> {
                    string.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                }
                default -> string.append(text.charAt(at));
            }
        }
        at++;
        return string.toString();
    }

    private Object number() {
        int from = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        BigDecimal number = new BigDecimal(text.substring(from, at));
        if (number.scale() > 0) {
            return number.doubleValue();
        }
        return number.min(BigDecimal.valueOf(Long.MAX_VALUE)).longValue();
    }
}
