/**
 * A {@link io.github.tidegate.Gate} in front of Spring MVC: {@link io.github.tidegate.spring.GateInterceptor}, which Spring Boot
 * configures by itself.
 */
package io.github.tidegate.spring;
