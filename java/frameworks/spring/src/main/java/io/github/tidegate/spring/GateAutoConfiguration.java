package io.github.tidegate.spring;

import io.github.tidegate.Decision;
import io.github.tidegate.Gate;
import io.github.tidegate.servlet.RequestGate;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/**
 * Puts a gate in front of all handlers of an application that says {@code tidegate.rules} or has a bean of a {@link Gate}. A bean of a
 * {@link RequestGate} replaces what {@link GateProperties} say of requests.
 */
@AutoConfiguration
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@EnableConfigurationProperties(GateProperties.class)
public class GateAutoConfiguration {
    /** The gate whose rules are in the file {@code tidegate.rules}, which is watched. */
    @Bean
    @ConditionalOnProperty("tidegate.rules")
    @ConditionalOnMissingBean
    Gate gate(GateProperties properties) {
        Gate gate = Gate.of();
        gate.watch(properties.rules());
        return gate;
    }

    /** How requests are told to the gate. */
    @Bean
    @ConditionalOnBean(Gate.class)
    @ConditionalOnMissingBean
    RequestGate requestGate(Gate gate, GateProperties properties) {
        return RequestGate.builder(gate)
                .trustedHops(properties.trustedHops())
                .timeout(properties.timeout() == null ? Decision.NEVER : properties.timeout())
                .legacyHeaders(properties.legacyHeaders())
                .build();
    }

    /** The interceptor, in front of all handlers. */
    @Bean
    @ConditionalOnBean(RequestGate.class)
    WebMvcConfigurer gateInterceptor(RequestGate gate) {
        return new WebMvcConfigurer() {
            @Override
            public void addInterceptors(InterceptorRegistry registry) {
                registry.addInterceptor(new GateInterceptor(gate));
            }
        };
    }
}
