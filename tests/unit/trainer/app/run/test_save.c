/* What a job with nothing in it can tell of saving; whole runs are in test_command_train.c. */
#include "trainer/app/run/save.h"

#include "common/log/log.h"
#include "tests/support/unit.h"
#include "trainer/app/run/record.h"
#include "trainer/app/step/stepper.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An epoch has ended with a checkpoint, and a stop comes before the next step is done. */
static void a_step_is_saved_once(void) {
    struct training_run job = {.saves.keeping = {.asked = true, .saved_step = 5},
                               .state = {.step = 5}};
    struct error err = {0};
    CU_ASSERT_EQUAL(save_checkpoint(&job, &err), 0);
    CU_ASSERT_FALSE(job.saves.keeping.asked);
    CU_ASSERT_EQUAL(job.saves.keeping.saved_step, 5);
}

/* They leave all to the first one. */
static void other_ranks_write_nothing(void) {
    struct training_run job = {.setup.first = false};
    struct error err = {0};
    CU_ASSERT_EQUAL(save_check(&job, &err), 0);
    CU_ASSERT_EQUAL(save_model(&job, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

/* A network of one weight. */
static void build(struct graph *graph, struct store *store, struct backend **backend) {
    CU_ASSERT_EQUAL_FATAL(ref_open(backend, NULL), 0);
    graph_init(graph, DTYPE_F32, true);
    int x = graph_input(graph, "x", DTYPE_F32, shape_4(1, 1, 1, 1));
    x = graph_conv2d(graph, "conv1", x, 1, 1, (struct op_window){.kernel = 1, .stride = 1});
    (void)graph_keep(graph, x, "y");
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(store, *backend, graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(store, 1, NULL), 0);
}

/* Each byte of such a name is six in JSON, where all names together may be 128 KiB. */
static void a_state_that_is_too_long_for_a_checkpoint_is_an_error(void) {
    enum { BYTES = 120 * 1024 };
    static char name[BYTES + 1];
    char *names[] = {name};
    struct training_run job = {.setup = {.first = true, .data.class_names = names},
                               .saves.keeping.saved_step = 4,
                               .state = {.step = 5, .images = 1, .classes = 1}};
    struct error err = {0};
    struct graph graph;
    struct backend *backend = NULL;
    memset(name, 1, BYTES);
    build(&graph, &job.steps.net.store, &backend);
    job.steps.stepper.strategy = strategy_of(OPTION_ALLREDUCE); /* as an opened one has it */
    CU_ASSERT_EQUAL(save_checkpoint(&job, &err), -1);
    ASSERT_CONTAINS(err.text, "saving a checkpoint: ");
    CU_ASSERT_EQUAL(job.saves.keeping.saved_step, 4);
    store_done(&job.steps.net.store);
    graph_done(&graph);
    backend_close(backend);
}

/* The last line of the log. */
static char heard[1024];

static void hear(void *context, enum log_level level, const char *text) {
    (void)context;
    (void)level;
    (void)snprintf(heard, sizeof(heard), "%s", text);
}

/* A write that ends when its pipe is closed. */
struct slow_write {
    int pipe[2];
    bool fails;
    atomic_bool done;
};

static int write_slowly(void *user, struct error *err) {
    struct slow_write *w = user;
    char byte;
    (void)!read(w->pipe[0], &byte, 1);
    atomic_store(&w->done, true);
    return w->fails ? error_set(err, EXIT_CODE_CONFIG, "no space left") : 0;
}

static void *let_it_end(void *user) {
    (void)close(((struct slow_write *)user)->pipe[1]);
    return NULL;
}

/* Leaves a run that has failed while a checkpoint is written. */
static void leave_while(struct training_run *job, struct slow_write *w) {
    struct saving *s = &job->saves.saving;
    struct log_listener before = log_set_listener((struct log_listener){hear, NULL});
    pthread_t thread;
    heard[0] = '\0';
    s->file = (struct saving_file){.folder = "there", .step = 7};
    (void)snprintf(s->file.path, sizeof(s->file.path), "there/step-7.safetensors");
    CU_ASSERT_EQUAL_FATAL(pipe(w->pipe), 0);
    CU_ASSERT_EQUAL_FATAL(writer_open(&s->writer, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(writer_submit(&s->writer, write_slowly, w, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, let_it_end, w), 0);
    save_leave(job);
    CU_ASSERT(atomic_load(&w->done));
    CU_ASSERT_FALSE(saving_is_busy(s));
    (void)pthread_join(thread, NULL);
    (void)close(w->pipe[0]);
    saving_done(s);
    (void)log_set_listener(before);
}

/* The checkpoint is worth the half a minute: the next attempt goes on from it. */
static void a_failing_run_waits_for_its_checkpoint(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    struct training_run job = {.setup = {.first = true, .backend = backend, .threads.compute = 1}};
    struct slow_write good = {.fails = false}, bad = {.fails = true};
    leave_while(&job, &good);
    CU_ASSERT_STRING_EQUAL(heard, "checkpoint there/step-7.safetensors");
    leave_while(&job, &bad);
    CU_ASSERT_STRING_EQUAL(heard, "saving the checkpoint of step 7: no space left");
    heard[0] = '\0';
    save_leave(&job); /* none is being written */
    CU_ASSERT_STRING_EQUAL(heard, "");
    backend_close(backend);
}

/* A checkpoint of weights that are not finite was begun and is not there. */
static void only_a_complete_checkpoint_is_promised(void) {
    const struct options o = {.resume = "auto"};
    struct training_run job = {.setup = {.first = true, .options = &o},
                               .saves.keeping = {.saved_step = 5, .saved_at = 1},
                               .state = {.step = 5}};
    struct log_listener before = log_set_listener((struct log_listener){hear, NULL});
    record_log_stop(&job);
    CU_ASSERT_STRING_EQUAL(heard,
                           "stopped on request after step 5; the same command goes on from there");
    job.saves.keeping.saved_at = 0;
    record_log_stop(&job);
    CU_ASSERT_STRING_EQUAL(heard, "stopped on request after step 5");
    (void)log_set_listener(before);
}

UNIT_SUITE("app.save", UNIT(a_step_is_saved_once), UNIT(other_ranks_write_nothing),
           UNIT(a_state_that_is_too_long_for_a_checkpoint_is_an_error),
           UNIT(a_failing_run_waits_for_its_checkpoint),
           UNIT(only_a_complete_checkpoint_is_promised))
