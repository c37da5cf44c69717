package io.github.tidegate.servlet;

import io.github.tidegate.Entry;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

/** A request that is let in: what it holds until its response is complete. */
public final class Admission {
    private static final int SERVER_ERROR = 500;

    private final Entry entry;
    private final HttpServletResponse response;

    Admission(Entry entry, HttpServletResponse response) {
        this.entry = entry;
        this.response = response;
    }

    /** The rules that apply, and how they stood. */
    public Entry entry() {
        return entry;
    }

    /**
     * Gives everything back, once: the work went well if nothing was thrown and the response's status is below 500.
     *
     * @param failure what was thrown; null if nothing was
     */
    public void finish(Throwable failure) {
        if (failure != null || response.getStatus() >= SERVER_ERROR) {
            try {
                entry.release(false);
            } catch (IllegalStateException before) {
                // It was given back before.
            }
        } else {
            entry.close();
        }
    }

    /** To be called when the handler has returned: gives everything back now, or, of a request that it made asynchronous, at its end. */
    public void finishWhenComplete(HttpServletRequest request) {
        try {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().addListener(new Completion());
                return;
            }
        } catch (IllegalStateException complete) {
            // It has just become so.
        }
        finish(null);
    }

    private final class Completion implements AsyncListener {
        private Throwable failure;

        @Override
        public void onComplete(AsyncEvent event) {
            finish(failure);
        }

        @Override
        public void onTimeout(AsyncEvent event) {
            failure = new IllegalStateException("the request has timed out");
        }

        @Override
        public void onError(AsyncEvent event) {
            failure = event.getThrowable() == null
                    ? new IllegalStateException("the request failed")
                    : event.getThrowable();
        }

        @Override
        public void onStartAsync(AsyncEvent event) {
            // By a request that was dispatched: who listened before is forgotten.
            event.getAsyncContext().addListener(this);
        }
    }
}
