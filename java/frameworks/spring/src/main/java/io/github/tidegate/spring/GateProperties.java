package io.github.tidegate.spring;

import java.nio.file.Path;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * What an application says of its gate.
 *
 * @param rules the file of rules, which is watched; without it, and without a bean of a gate, nothing is configured
 * @param trustedHops behind how many proxies of its own the application is
 * @param timeout for how long a request may wait in all, whatever the rules say; by default as long as they say
 * @param legacyHeaders whether responses also have {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset}
 */
@ConfigurationProperties("tidegate")
public record GateProperties(Path rules, int trustedHops, Duration timeout, boolean legacyHeaders) {}
