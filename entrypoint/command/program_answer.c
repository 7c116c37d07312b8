#include "entrypoint/command/program_answer.h"

#include "common/argv.h"
#include "common/clock.h"
#include "entrypoint/os/subprocess.h"

#include <signal.h>
#include <stdlib.h>

struct asking {
    struct loop loop;
    struct reaper reaper;
    struct subprocess task;
    struct timer deadline;
    struct buf words;
    int code;
};

static void on_signal(void *context, int number) {
    struct asking *a = context;
    (void)number;
    (void)reaper_run(&a->reaper);
}

/* Output beyond the buffer's maximum is dropped. */
static void hear(void *context, const char *line, size_t size) {
    struct asking *a = context;
    (void)buf_add(&a->words, line, size, NULL);
}

static void ended(void *context, int code) {
    struct asking *a = context;
    a->code = code;
    loop_end(&a->loop);
}

/* Kills the program at the deadline; its end is then handled like any other. */
static void late(void *context) {
    struct asking *a = context;
    subprocess_signal(&a->task, SIGKILL);
}

static int ask(struct asking *a, const char *const *words, struct error *err) {
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    const char *libraries = getenv("LD_LIBRARY_PATH");
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    const struct subprocess_options options = {
        .prefix = "", .line = hear, .ended = ended, .context = a};
    if (loop_init(&a->loop, err) != 0 || loop_signals(&a->loop, &set, on_signal, a, err) != 0 ||
        argv_add_all(&argv, words, err) != 0 ||
        argv_set_env(&environment, "LANG", "C.UTF-8", err) != 0 ||
        (libraries != NULL && argv_set_env(&environment, "LD_LIBRARY_PATH", libraries, err) != 0) ||
        subprocess_start(&a->task, &a->loop, &a->reaper, &argv, &environment, &options, err) != 0)
        return -1;
    loop_after(&a->loop, &a->deadline, PROGRAM_ANSWER_SECONDS * CLOCK_SECOND);
    return loop_run(&a->loop, err);
}

int program_answer(const char *const *words, struct buf *ret, struct error *err) {
    struct asking a = {.code = -1};
    a.deadline = (struct timer){.fire = late, .context = &a};
    buf_init(&a.words, PROGRAM_ANSWER_MAX);
    int result = ask(&a, words, err);
    if (result == 0 && a.code != 0)
        result = error_set(err, EXIT_CODE_INTERNAL, "%s %s ended with %d", words[0],
                           words[1] != NULL ? words[1] : "", a.code);
    if (result == 0)
        result = buf_add(ret, a.words.data, a.words.size, err);
    loop_cancel(&a.loop, &a.deadline);
    subprocess_done(&a.task);
    loop_done(&a.loop);
    buf_done(&a.words);
    return result;
}
