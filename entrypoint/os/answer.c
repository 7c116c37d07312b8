#include "entrypoint/os/answer.h"

#include "entrypoint/os/subprocess.h"

#include <signal.h>

struct asking {
    struct loop loop;
    struct reaper reaper;
    struct subprocess task;
    struct program_reply *answer;
};

static void on_signal(void *context, int number) {
    struct asking *a = context;
    (void)number;
    (void)reaper_run(&a->reaper);
}

/* Output beyond the buffer's maximum is dropped. */
static void hear(void *context, const char *line, size_t size) {
    struct asking *a = context;
    (void)buf_add(&a->answer->words, line, size, NULL);
}

static void ended(void *context, int code) {
    struct asking *a = context;
    a->answer->code = code;
    loop_end(&a->loop);
}

static int ask(struct asking *a, const char *const *words, const struct argv *environment,
               int64_t limit, struct error *err) {
    cleanup_argv struct argv argv = {0};
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    const struct subprocess_options options = {
        .prefix = "", .line = hear, .ended = ended, .context = a, .limit = limit};
    if (loop_init(&a->loop, err) != 0 || loop_signals(&a->loop, &set, on_signal, a, err) != 0 ||
        argv_add_all(&argv, words, err) != 0 ||
        subprocess_start(&a->task, &a->loop, &a->reaper, &argv, environment, &options, err) != 0)
        return -1;
    return loop_run(&a->loop, err);
}

int answer_ask(const char *const *words, const struct argv *environment, int64_t limit,
               struct program_reply *ret, struct error *err) {
    struct asking a = {.answer = ret};
    ret->code = -1;
    int result = ask(&a, words, environment, limit, err);
    ret->signal = a.task.signal;
    ret->late = a.task.late;
    subprocess_done(&a.task);
    loop_done(&a.loop);
    return result;
}
