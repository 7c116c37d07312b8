/* What a job with nothing in it can tell of saving; whole runs are in test_command_train.c. */
#include "trainer/app/run/save.h"

#include "tests/support/unit.h"
#include "trainer/app/step/stepper.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"

#include <string.h>

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

UNIT_SUITE("app.save", UNIT(a_step_is_saved_once), UNIT(other_ranks_write_nothing),
           UNIT(a_state_that_is_too_long_for_a_checkpoint_is_an_error))
