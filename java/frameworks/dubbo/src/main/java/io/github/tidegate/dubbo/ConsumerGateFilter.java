package io.github.tidegate.dubbo;

import io.github.tidegate.Attributes;
import io.github.tidegate.Gate;
import java.time.Duration;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.common.constants.CommonConstants;
import org.apache.dubbo.common.extension.Activate;
import org.apache.dubbo.rpc.Invocation;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.Result;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.cluster.filter.ClusterFilter;
import org.apache.dubbo.rpc.support.RpcUtils;

/** Calls to services of others go through {@link DubboGates#consumer(Gate)}. */
@Activate(group = CommonConstants.CONSUMER)
public final class ConsumerGateFilter implements ClusterFilter {
    @Override
    public Result invoke(Invoker<?> invoker, Invocation invocation) {
        Gate gate = DubboGates.consumer();
        if (gate == null) {
            return invoker.invoke(invocation);
        }
        URL url = invoker.getUrl();
        String caller = url.getApplication();
        String method = RpcUtils.getMethodName(invocation);
        Attributes request = Attributes.of(
                "service", invoker.getInterface().getName(), "method", method, "caller", caller == null ? "" : caller);
        long timeoutMillis = RpcUtils.getTimeout(
                url, method, RpcContext.getClientAttachment(), invocation, CommonConstants.DEFAULT_TIMEOUT);
        return DubboGates.call(gate, request, Duration.ofMillis(timeoutMillis), () -> invoker.invoke(invocation));
    }
}
