package io.github.tidegate.dubbo;

import io.github.tidegate.Attributes;
import io.github.tidegate.Decision;
import io.github.tidegate.Gate;
import org.apache.dubbo.common.constants.CommonConstants;
import org.apache.dubbo.common.extension.Activate;
import org.apache.dubbo.rpc.AsyncRpcResult;
import org.apache.dubbo.rpc.Filter;
import org.apache.dubbo.rpc.Invocation;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.Result;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.RpcException;
import org.apache.dubbo.rpc.support.RpcUtils;

/** Calls to services of this process go through {@link DubboGates#provider(Gate)}. */
@Activate(group = CommonConstants.PROVIDER)
public final class ProviderGateFilter implements Filter {
    @Override
    public Result invoke(Invoker<?> invoker, Invocation invocation) {
        Gate gate = DubboGates.provider();
        if (gate == null) {
            return invoker.invoke(invocation);
        }
        String caller = RpcContext.getServiceContext().getRemoteApplicationName();
        String client = RpcContext.getServiceContext().getRemoteHost();
        Attributes request = Attributes.ofPairs(
                "service",
                invoker.getInterface().getName(),
                "method",
                RpcUtils.getMethodName(invocation),
                "caller",
                caller == null ? "" : caller,
                "client",
                client == null ? "" : client);
        try {
            return DubboGates.call(gate, request, Decision.NEVER, () -> invoker.invoke(invocation));
        } catch (RpcException failure) {
            // As a result, which the caller doesn't try again.
            return AsyncRpcResult.newDefaultAsyncResult(failure, invocation);
        }
    }
}
