#include "entrypoint/os/subprocess.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void ended(void *context, int status) {
    struct subprocess *t = context;
    t->running = false;
    loop_cancel(t->loop, &t->deadline);
    t->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    pipe_reader_close(&t->out);
    pipe_reader_close(&t->error_out);
    t->ended(t->context, child_exit_code(status));
}

/* ended() then runs as for any other end. */
static void expire(void *context) {
    struct subprocess *t = context;
    t->late = true;
    subprocess_signal(t, SIGKILL);
}

static int spawn(struct subprocess *t, const struct argv *argv, const struct argv *environment,
                 int out, int error_out, const struct subprocess_options *o, struct error *err) {
    struct child_options options = {.file = argv->items[0],
                                    .argv = argv->items,
                                    .environment = environment->items,
                                    .out = out,
                                    .error_out = error_out,
                                    .group = CHILD_NEW_SESSION,
                                    .directory = o->directory,
                                    .keep = {o->keep[0], o->keep[1]},
                                    .hold = {o->hold[0], o->hold[1]},
                                    .hold_user_signals = o->hold_user_signals,
                                    .as_user = o->as_user,
                                    .death_signal = SIGKILL};
    if (child_spawn(&options, &t->child.pid, err) != 0)
        return -1;
    t->running = true;
    reaper_add(t->reaper, &t->child);
    if (o->limit > 0)
        loop_after(t->loop, &t->deadline, o->limit);
    return 0;
}

static int open_out(struct subprocess *t, struct loop *loop, int fd,
                    const struct subprocess_options *o, struct error *err) {
    if (o->mark != NULL)
        return pipe_reader_open(&t->out, loop, fd, "", NULL, o->mark, o->context, err);
    return pipe_reader_open(&t->out, loop, fd, o->prefix, &t->tail, o->line, o->context, err);
}

int subprocess_start(struct subprocess *t, struct loop *loop, struct reaper *reaper,
                     const struct argv *argv, const struct argv *environment,
                     const struct subprocess_options *options, struct error *err) {
    *t = (struct subprocess){
        .loop = loop, .reaper = reaper, .ended = options->ended, .context = options->context};
    t->child = (struct child){.ended = ended, .context = t};
    t->deadline = (struct timer){.fire = expire, .context = t};
    int out[2] = {-1, -1};
    int error_out[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(error_out, O_CLOEXEC) != 0) {
        (void)error_set_errno(err, EXIT_CODE_INTERNAL, "pipes for %s", argv->items[0]);
        if (out[0] >= 0) {
            (void)close(out[0]);
            (void)close(out[1]);
        }
        return -1;
    }
    cleanup_fd int out_end = out[1];
    cleanup_fd int error_end = error_out[1];
    cleanup_fd int error_begin = error_out[0];
    if (open_out(t, loop, out[0], options, err) == 0 &&
        pipe_reader_open(&t->error_out, loop, take_fd(&error_begin), options->prefix, &t->tail,
                         options->line, options->context, err) == 0 &&
        spawn(t, argv, environment, out_end, error_end, options, err) == 0)
        return 0;
    subprocess_done(t);
    return -1;
}

void subprocess_done(struct subprocess *t) {
    if (t->running)
        reaper_forget(t->reaper, &t->child);
    t->running = false;
    if (t->loop != NULL)
        loop_cancel(t->loop, &t->deadline);
    pipe_reader_close(&t->out);
    pipe_reader_close(&t->error_out);
}

void subprocess_signal(const struct subprocess *t, int number) {
    if (t->running)
        (void)kill(-t->child.pid, number);
}
