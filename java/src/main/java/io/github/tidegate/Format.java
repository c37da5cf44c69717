package io.github.tidegate;

import java.nio.file.Path;
import java.util.Locale;

/** How the rules of a {@link Gate} are written. */
public enum Format {
    /** TOML: {@code .toml}. */
    TOML(1),
    /** JSON: {@code .json}. */
    JSON(2),
    /** YAML: {@code .yaml} or {@code .yml}. */
    YAML(3);

    /** The number in the C header. */
    final int code;

    Format(int code) {
        this.code = code;
    }

    /**
     * The format that a file's name says.
     *
     * @throws ConfigException if it ends otherwise
     */
    public static Format of(Path file) {
        String name = String.valueOf(Mistake.nonNull("file", file, "a path").getFileName())
                .toLowerCase(Locale.ROOT);
        if (name.endsWith(".toml")) {
            return TOML;
        } else if (name.endsWith(".json")) {
            return JSON;
        } else if (name.endsWith(".yaml") || name.endsWith(".yml")) {
            return YAML;
        }
        throw Mistake.of("file", file, "a name that ends in .toml, .json, .yaml or .yml");
    }
}
