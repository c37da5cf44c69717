/** Gates for both sides of Dubbo calls: {@link io.github.tidegate.dubbo.DubboGates}. */
package io.github.tidegate.dubbo;
