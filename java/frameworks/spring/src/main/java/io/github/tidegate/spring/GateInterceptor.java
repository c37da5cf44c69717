package io.github.tidegate.spring;

import io.github.tidegate.servlet.Admission;
import io.github.tidegate.servlet.RequestGate;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.servlet.AsyncHandlerInterceptor;

/**
 * A gate in front of the handlers of Spring MVC, which {@link Limited} names. What a request takes is given back when its response is
 * complete, also one that is made asynchronously; as failed if the handler throws or the status is 500 or more.
 */
public final class GateInterceptor implements AsyncHandlerInterceptor {
    /** The request's attribute that keeps what it holds. */
    private static final String ADMISSION = GateInterceptor.class.getName();

    private final RequestGate gate;

    /** An interceptor of all requests to which it is applied. */
    public GateInterceptor(RequestGate gate) {
        this.gate = gate;
    }

    @Override
    public boolean preHandle(HttpServletRequest request, HttpServletResponse response, Object handler)
            throws IOException {
        if (request.getDispatcherType() != DispatcherType.REQUEST) {
            // It was let in before.
            return true;
        }
        Limited limited = limited(handler);
        Map<String, String> more = limited == null ? Map.of() : Map.of("limited", limited.value());
        Optional<Admission> admitted = gate.admit(request, response, more, limited == null ? 1 : limited.cost());
        admitted.ifPresent(admission -> request.setAttribute(ADMISSION, admission));
        return admitted.isPresent();
    }

    @Override
    public void afterConcurrentHandlingStarted(
            HttpServletRequest request, HttpServletResponse response, Object handler) {
        if (request.getAttribute(ADMISSION) instanceof Admission admission) {
            admission.finishWhenComplete(request);
        }
    }

    @Override
    public void afterCompletion(
            HttpServletRequest request, HttpServletResponse response, Object handler, Exception failure) {
        if (request.getAttribute(ADMISSION) instanceof Admission admission) {
            admission.finish(failure);
        }
    }

    private static Limited limited(Object handler) {
        if (!(handler instanceof HandlerMethod method)) {
            return null;
        }
        Limited own = method.getMethodAnnotation(Limited.class);
        return own == null ? AnnotatedElementUtils.findMergedAnnotation(method.getBeanType(), Limited.class) : own;
    }
}
