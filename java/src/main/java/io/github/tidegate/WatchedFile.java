package io.github.tidegate;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Rules in a file that is watched: changed in place, by a rename, or when a link to it leads elsewhere, as those of Kubernetes do. By
 * a thread of Java, since those who wait for a change of rules are told on the thread that makes it.
 */
final class WatchedFile extends GateSource {
    /** Whoever writes a file does so in several steps. */
    private static final long SETTLED_MILLIS = 50;

    private static final long AT_LATEST_NANOS = 1_000_000_000;

    /** Whether or not a change was seen: not every file system tells. */
    private static final long POLL_NANOS = 30_000_000_000L;

    /** A file that is longer than rules can be is wrong whatever follows. */
    private static final int MOST_BYTES = 64 << 20;

    private final Path file;
    private byte[] last;
    private WatchService watcher;

    /** @param last what the file said when its rules were read; null if it couldn't be */
    WatchedFile(Gate gate, Path file, byte[] last) {
        super(gate);
        this.file = file;
        this.last = last;
    }

    @Override
    public void run() {
        try {
            watcher = file.getFileSystem().newWatchService();
        } catch (IOException | UnsupportedOperationException unwatched) {
            // It is polled.
        }
        try {
            while (!isOver()) {
                watchDirectories();
                // Perhaps it changed before its directories were watched.
                look();
                awaitChange();
            }
        } finally {
            closeWatcher();
        }
    }

    /** What a file says; null if it can't be read. */
    static byte[] read(Path file) {
        try (InputStream open = Files.newInputStream(file)) {
            return open.readNBytes(MOST_BYTES);
        } catch (IOException | SecurityException unreadable) {
            return null;
        }
    }

    private void look() {
        byte[] now = read(file);
        if (!Arrays.equals(now, last)) {
            last = now;
            change(gate -> gate.reload(file));
        }
    }

    /** The one that the file is in, and the one that its links lead to. To be called anew, since either may become another. */
    private void watchDirectories() {
        watch(file.getParent());
        try {
            watch(file.toRealPath().getParent());
        } catch (IOException gone) {
            // Its own directory tells when it is back.
        }
    }

    private void watch(Path directory) {
        if (watcher != null) {
            try {
                directory.register(
                        watcher,
                        StandardWatchEventKinds.ENTRY_CREATE,
                        StandardWatchEventKinds.ENTRY_MODIFY,
                        StandardWatchEventKinds.ENTRY_DELETE);
            } catch (IOException unwatched) {
                // It is polled.
            }
        }
    }

    private void awaitChange() {
        if (watcher == null) {
            sleep(POLL_NANOS);
            return;
        }
        long start = System.nanoTime();
        try {
            WatchKey changed = null;
            while (changed == null && !isOver() && System.nanoTime() - start < POLL_NANOS) {
                changed = watcher.poll(NAP_NANOS, TimeUnit.NANOSECONDS);
            }
            long seen = System.nanoTime();
            while (changed != null && System.nanoTime() - seen < AT_LATEST_NANOS) {
                changed.pollEvents();
                changed.reset();
                changed = watcher.poll(SETTLED_MILLIS, TimeUnit.MILLISECONDS);
            }
            if (changed != null) {
                changed.reset();
            }
        } catch (InterruptedException | ClosedWatchServiceException ignored) {
            // By nobody: the thread is known to none.
        }
    }

    private void closeWatcher() {
        if (watcher != null) {
            try {
                watcher.close();
            } catch (IOException ignored) {
                // It is gone either way.
            }
        }
    }
}
