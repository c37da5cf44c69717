package io.github.tidegate.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What a handler, or each one of a controller, is called in the rules of a gate: by the attribute {@code limited}.
 *
 * <pre>{@code
 * @Limited("search") // match = { limited = { exact = "search" } }
 * @GetMapping("/find")
 * String find(String text) { ... }
 * }</pre>
 */
@Documented
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
public @interface Limited {
    /** The value of the attribute. */
    String value();

    /** What a request costs, in tokens or permits of each rule. */
    long cost() default 1;
}
