package io.github.tidegate;

/** Threads that work for gates in the background. */
final class SourceThread {
    private SourceThread() {}

    static Thread start(String name, Runnable work) {
        Thread thread = new Thread(null, work, name, 0, false);
        thread.setDaemon(true);
        // Nobody's classes are kept by it.
        thread.setContextClassLoader(null);
        thread.start();
        return thread;
    }
}
