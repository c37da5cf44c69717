package io.github.tidegate.moving;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A test is about the rows of its page whose first cells begin so. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Row {
    String[] value();
}
