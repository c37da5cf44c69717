/* One gate on many threads: entries, waits without a thread and their end, changes of rules and events, all at once. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gate_fixture.h"

enum { THREADS = 4 };

/* Requests of each thread. Less under a memory checker. */
static int rounds = 5000;

static const char rules_text[] = "[[rules]]\n"
                                 "name = 'two'\n"
                                 "concurrency = 2\n"
                                 "timeout = '1h'\n"
                                 "[[rules]]\n"
                                 "name = 'many'\n"
                                 "key = 'client'\n"
                                 "quota = '1000000000/s'\n";

/* Beside it lie the files that it writes. */
static const char *program = "test_gate_threads";

static tidegate_gate *gate;
static atomic_int inside, most_inside, wrong;

static void on_threads(void *(*run)(void *)) {
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, run, (void *)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
}

static void come_in(void) {
    int now = atomic_fetch_add(&inside, 1) + 1, most = atomic_load(&most_inside);
    while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now)) {
    }
}

static void *wait_on_the_thread(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        Request mine = request(gate, "/", "ann", TIDEGATE_NEVER_NS);
        wrong += mine.status != TIDEGATE_ALLOWED;
        come_in();
        inside--;
        done(&mine);
    }
    return NULL;
}

static void no_more_than_may_are_inside_at_once_while_the_rules_are_reloaded(void) {
    gate = gate_of(rules_text, NULL);
    inside = most_inside = wrong = 0;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, wait_on_the_thread, NULL), 0);
    }
    for (int i = 0; i < rounds / 100; i++) {
        CHECK_EQUAL(tidegate_gate_reload(gate, TEXT(rules_text), TIDEGATE_FORMAT_TOML, NULL, NULL, 0), TIDEGATE_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQUAL(wrong, 0);
    CHECK(most_inside <= 2);
    CHECK(says(stats(gate), "\"in_flight\":0"));
    tidegate_gate_free(gate);
}

/* A request that waits without a thread. Its memory goes as soon as it is freed: a callback after that is a fault. */
typedef struct {
    Request request;
    tidegate_entering *entering;
    atomic_int calls;
} Waiting;

static void call_back(void *user_data) {
    ((Waiting *)user_data)->calls++;
}

static void *wait_without_a_thread(void *thread) {
    for (int i = 0; i < rounds; i++) {
        Waiting *waiting = calloc(1, sizeof *waiting);
        Request *mine = &waiting->request;
        uint64_t wake_after_ns;
        mine->status = tidegate_gate_enter_async(gate, ATTRIBUTES("/", "ann"), 1, TIDEGATE_NEVER_NS, call_back, waiting,
                                                 &mine->entry, &mine->refusal, &waiting->entering, &wake_after_ns);
        /* Some give up, whatever has happened by then. */
        bool gives_up = (i + (intptr_t)thread) % 3 == 0;
        while (mine->status == TIDEGATE_PENDING && !gives_up) {
            while (atomic_exchange(&waiting->calls, 0) == 0) {
                sched_yield();
            }
            mine->status = tidegate_entering_poll(waiting->entering, &mine->entry, &mine->refusal, &wake_after_ns);
        }
        if (mine->status == TIDEGATE_ALLOWED) {
            come_in();
            inside--;
        } else {
            wrong += !gives_up;
        }
        tidegate_entering_free(waiting->entering);
        done(mine);
        free(waiting);
    }
    return NULL;
}

static void waits_that_end_as_they_are_granted_lose_nothing_and_are_not_called_after_their_end(void) {
    gate = gate_of(rules_text, NULL);
    inside = most_inside = wrong = 0;
    on_threads(wait_without_a_thread);
    CHECK_EQUAL(wrong, 0);
    CHECK(most_inside <= 2);
    CHECK(says(stats(gate), "\"in_flight\":0"));
    CHECK(says(stats(gate), "\"waiting\":0"));
    tidegate_gate_free(gate);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_called, is_freed, has_returned;

static void take_long(void *unused) {
    (void)unused;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    is_called = true;
    pthread_cond_broadcast(&changed);
    while (!is_freed && pthread_cond_timedwait(&changed, &lock, &until) == 0) {
    }
    has_returned = true;
    pthread_mutex_unlock(&lock);
}

static void *release_entry(void *entry) {
    tidegate_entry_release(entry, 1);
    return NULL;
}

static void a_free_waits_for_a_callback_on_another_thread(void) {
    gate = gate_of("[[rules]]\nname = 'one'\nconcurrency = 1\ntimeout = '1h'\n", NULL);
    Request held = at_once(gate, "/"), mine = {0};
    tidegate_entering *entering = NULL;
    uint64_t wake_after_ns;
    CHECK_EQUAL(tidegate_gate_enter_async(gate, NULL, 0, 1, TIDEGATE_NEVER_NS, take_long, NULL, &mine.entry, NULL,
                                          &entering, &wake_after_ns),
                TIDEGATE_PENDING);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, release_entry, held.entry), 0); /* an entry ends on any thread */
    pthread_mutex_lock(&lock);
    while (!is_called) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    tidegate_entering_free(entering);
    pthread_mutex_lock(&lock);
    CHECK(has_returned);
    is_freed = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(status_of(at_once(gate, "/")), TIDEGATE_ALLOWED);
    tidegate_gate_free(gate);
}

static int calls, calls_at_once, most_calls_at_once;
static bool may_return;

static void stay_until_told(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    calls++;
    calls_at_once++;
    most_calls_at_once = calls_at_once > most_calls_at_once ? calls_at_once : most_calls_at_once;
    pthread_cond_broadcast(&changed);
    /* The second one must not stay: if it ran at once with the first, nobody would tell it. */
    while (!may_return && calls == 1) {
        pthread_cond_wait(&changed, &lock);
    }
    calls_at_once--;
    pthread_mutex_unlock(&lock);
}

static void the_calls_for_one_request_come_one_after_the_other(void) {
    tidegate_clock *clock = manual_clock();
    gate = gate_of("[[rules]]\n"
                   "name = 'one'\n"
                   "concurrency = 1\n"
                   "timeout = '1h'\n"
                   "[[rules]]\n"
                   "name = 'paced'\n"
                   "quota = '1/s'\n"
                   "timeout = '1h'\n",
                   clock);
    calls = calls_at_once = most_calls_at_once = 0;
    may_return = false;
    Request held = at_once(gate, "/"), mine = {0};
    tidegate_entering *entering = NULL;
    uint64_t wake_after_ns;
    CHECK_EQUAL(tidegate_gate_enter_async(gate, ATTRIBUTES("/", "ann"), 1, TIDEGATE_NEVER_NS, stay_until_told, NULL,
                                          &mine.entry, NULL, &entering, &wake_after_ns),
                TIDEGATE_PENDING);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, release_entry, held.entry), 0);
    pthread_mutex_lock(&lock);
    while (calls == 0) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    /* It has the permit, and waits for the token, while the first call goes on. */
    CHECK_EQUAL(tidegate_entering_poll(entering, &mine.entry, NULL, &wake_after_ns), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND), TIDEGATE_OK);
    pthread_mutex_lock(&lock);
    CHECK_EQUAL(calls, 1);
    may_return = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(calls, 2);
    CHECK_EQUAL(most_calls_at_once, 1);
    CHECK_EQUAL(tidegate_entering_poll(entering, &mine.entry, NULL, &wake_after_ns), TIDEGATE_ALLOWED);
    tidegate_entering_free(entering);
    done(&mine);
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void *wait_for_an_event(void *events) {
    tidegate_text *event = NULL;
    int32_t status;
    /* The other thread may be just looking. */
    while ((status = tidegate_gate_events_next(events, TIDEGATE_NEVER_NS, &event)) == TIDEGATE_QUEUE_FULL) {
        sched_yield();
    }
    wrong += status != TIDEGATE_OK || strstr(tidegate_text_data(event), "\"event\":\"reloaded\"") == NULL;
    tidegate_text_free(event);
    return NULL;
}

static void *wait_for_the_end(void *events) {
    tidegate_text *event = NULL;
    int32_t status;
    while ((status = tidegate_gate_events_next(events, TIDEGATE_NEVER_NS, &event)) == TIDEGATE_QUEUE_FULL) {
        sched_yield();
    }
    wrong += status != TIDEGATE_CLOSED || event != NULL;
    return NULL;
}

static void a_thread_may_wait_for_events_one_at_a_time(void) {
    gate = gate_of(rules_text, NULL);
    wrong = 0;
    tidegate_gate_events *events = NULL;
    tidegate_text *event = NULL;
    CHECK_EQUAL(tidegate_gate_events_new(gate, &events), TIDEGATE_OK);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, wait_for_an_event, events), 0);
    while (tidegate_gate_events_next(events, 0, &event) == TIDEGATE_TIMED_OUT) {
        sched_yield();
    }
    CHECK(event == NULL); /* TIDEGATE_QUEUE_FULL: it waits */
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT(rules_text), TIDEGATE_FORMAT_TOML, NULL, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);

    /* Until there will be no more. */
    CHECK_EQUAL(pthread_create(&thread, NULL, wait_for_the_end, events), 0);
    while (tidegate_gate_events_next(events, 0, &event) == TIDEGATE_TIMED_OUT) {
        sched_yield();
    }
    tidegate_gate_free(gate);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(wrong, 0);
    tidegate_gate_events_free(events);
}

/* In the child of a fork: the parent's request and events are the parent's, and the gate works. */
static bool child_is_apart(Waiting *waiting, Request *held, tidegate_gate_events *events) {
    uint64_t wake_after_ns;
    tidegate_entry *entry = NULL;
    tidegate_text *event = NULL;
    bool fine = tidegate_entering_poll(waiting->entering, &entry, NULL, &wake_after_ns) == TIDEGATE_ERROR_FORKED;
    fine &= tidegate_gate_events_next(events, 0, &event) == TIDEGATE_ERROR_FORKED;
    Request one = at_once(gate, "/"), two = at_once(gate, "/");
    fine &= one.status == TIDEGATE_ALLOWED && two.status == TIDEGATE_ALLOWED;
    done(held);
    fine &= status_of(at_once(gate, "/")) == TIDEGATE_DENIED;
    done(&one);
    done(&two);
    tidegate_entering_free(waiting->entering);
    tidegate_gate_events_free(events);
    fine &= status_of(at_once(gate, "/")) == TIDEGATE_ALLOWED;
    return fine && waiting->calls == 0;
}

static void the_child_of_a_fork_is_not_called_back_and_has_nothing_of_its_parents(void) {
    gate = gate_of(rules_text, NULL);
    tidegate_gate_events *events = NULL;
    uint64_t wake_after_ns;
    CHECK_EQUAL(tidegate_gate_events_new(gate, &events), TIDEGATE_OK);
    Request one = at_once(gate, "/"), two = at_once(gate, "/");
    Waiting waiting = {0};
    Request *mine = &waiting.request;
    CHECK_EQUAL(tidegate_gate_enter_async(gate, NULL, 0, 1, TIDEGATE_NEVER_NS, call_back, &waiting, &mine->entry, NULL,
                                          &waiting.entering, &wake_after_ns),
                TIDEGATE_PENDING);
    pid_t child = fork();
    if (child == 0) {
        alarm(60); /* a hang, however busy the machine is */
        /* Not by an exit, after which a memory checker looks for what threads of the parent's had. */
        _exit(child_is_apart(&waiting, &one, events) ? kill(getpid(), SIGKILL) : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK_EQUAL(waiting.calls, 0);
    done(&one);
    CHECK_EQUAL(waiting.calls, 1);
    CHECK_EQUAL(tidegate_entering_poll(waiting.entering, &mine->entry, NULL, &wake_after_ns), TIDEGATE_ALLOWED);
    tidegate_entering_free(waiting.entering);
    done(mine);
    done(&two);
    tidegate_gate_events_free(events);
    tidegate_gate_free(gate);
}

static void a_file_that_is_watched_changes_the_rules_until_it_is_freed(void) {
    char path[512], other[512];
    snprintf(path, sizeof path, "%s.json", program);
    snprintf(other, sizeof other, "%s.new", program);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("{\"rules\": [{\"name\": \"all\", \"quota\": \"0/s\"}]}", file) >= 0 && fclose(file) == 0);
    gate = gate_of("rules = []", NULL);
    tidegate_watch *watch = NULL;
    CHECK_EQUAL(tidegate_gate_watch_file(gate, TEXT(path), &watch, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(status_of(at_once(gate, "/")), TIDEGATE_DENIED);
    file = fopen(other, "w");
    CHECK(file != NULL && fputs("{\"rules\": []}", file) >= 0 && fclose(file) == 0 && rename(other, path) == 0);
    time_t start = time(NULL);
    while (status_of(at_once(gate, "/")) != TIDEGATE_NO_RULE && time(NULL) < start + 60) {
        nanosleep(&(struct timespec){.tv_nsec = (long)MS}, NULL);
    }
    CHECK_EQUAL(status_of(at_once(gate, "/")), TIDEGATE_NO_RULE);
    tidegate_watch_free(watch);
    CHECK_EQUAL(remove(path), 0);
    CHECK_EQUAL(status_of(at_once(gate, "/")), TIDEGATE_NO_RULE);
    tidegate_gate_free(gate);
}

int main(int count_of_arguments, char **arguments) {
    program = count_of_arguments > 0 ? arguments[0] : program;
    rounds = count_of_arguments > 1 ? atoi(arguments[1]) : rounds;
    RUN(no_more_than_may_are_inside_at_once_while_the_rules_are_reloaded);
    RUN(waits_that_end_as_they_are_granted_lose_nothing_and_are_not_called_after_their_end);
    RUN(a_free_waits_for_a_callback_on_another_thread);
    RUN(the_calls_for_one_request_come_one_after_the_other);
    RUN(a_thread_may_wait_for_events_one_at_a_time);
    RUN(the_child_of_a_fork_is_not_called_back_and_has_nothing_of_its_parents);
    RUN(a_file_that_is_watched_changes_the_rules_until_it_is_freed);
    return finish();
}
