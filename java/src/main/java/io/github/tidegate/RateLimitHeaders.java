package io.github.tidegate;

/**
 * The values of a response's headers, as draft-ietf-httpapi-ratelimit-headers has them. Those that are empty are to be left out.
 *
 * @param policy {@code RateLimit-Policy}: each quota, such as {@code "search";q=100;w=60}
 * @param limit {@code RateLimit}: what is left, such as {@code "search";r=50;t=30}
 * @param retryAfter {@code Retry-After}: whole seconds, rounded up; of refusals only, and only if it is known
 */
public record RateLimitHeaders(String policy, String limit, String retryAfter) {}
