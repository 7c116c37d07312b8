#include "entrypoint/mpi/mpi_install.h"

#include "common/clock.h"
#include "entrypoint/job/user_program.h"

#include <stdlib.h>

enum { WORDS_MAX = 4096 };

/* Only the first line is needed, so text beyond the buffer's maximum may be lost. */
static void hear(void *context, const char *line, size_t size) {
    struct mpi_install *t = context;
    (void)buf_add(&t->words, line, size, NULL);
}

static int conclude(struct mpi_install *t, int code, struct error *err) {
    if (code != 0)
        return error_set(err, EXIT_CODE_CONFIG, "%s --version failed with code %d: %s", t->mpirun,
                         code, t->task.tail.text);
    if (openmpi_parse_version(buf_text(&t->words), t->words.size, &t->version, err) != 0)
        return error_wrap(err, "%s", t->mpirun);
    return user_program_find(openmpi_daemon(t->version.series), t->path, &t->daemon, err);
}

static void ended(void *context, int code) {
    struct mpi_install *t = context;
    struct error err = {0};
    t->done(t->context, conclude(t, code, &err) == 0 ? NULL : &err);
}

int mpi_install_find(struct mpi_install *t, struct loop *loop, struct reaper *reaper,
                     const char *path, const struct argv *environment,
                     void (*done)(void *context, const struct error *failure), void *context,
                     struct error *err) {
    *t = (struct mpi_install){.path = path, .done = done, .context = context};
    buf_init(&t->words, WORDS_MAX);
    if (user_program_find("mpirun", path, &t->mpirun, err) != 0)
        return -1;
    cleanup_argv struct argv argv = {0};
    if (argv_add(&argv, t->mpirun, err) != 0 || argv_add(&argv, "--version", err) != 0)
        return -1;
    struct subprocess_options options = {.prefix = "",
                                         .line = hear,
                                         .ended = ended,
                                         .context = t,
                                         .limit = MPI_INSTALL_SECONDS * CLOCK_SECOND};
    return subprocess_start(&t->task, loop, reaper, &argv, environment, &options, err);
}

void mpi_install_done(struct mpi_install *t) {
    if (t->done == NULL)
        return;
    subprocess_done(&t->task);
    buf_done(&t->words);
    free(t->mpirun);
    free(t->daemon);
    t->mpirun = t->daemon = NULL;
}
