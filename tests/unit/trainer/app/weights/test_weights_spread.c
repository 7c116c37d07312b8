/* Rank 0's values for all, over ranks of which one is here at a time. */
#include "trainer/app/weights/weights.h"

#include "tests/unit/trainer/app/run/two_ranks.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"

static struct two_ranks two;

/* A convolution with a norm that is trained, after one that stays as it is: values in all arenas.
 */
static void build(struct graph *graph, struct store *store, struct backend **backend) {
    const struct norm_options norm = {1e-5, 0.1, INIT_ONE};
    CU_ASSERT_EQUAL_FATAL(ref_open(backend, NULL), 0);
    graph_init(graph, DTYPE_F32, true);
    int x = graph_input(graph, "x", DTYPE_F32, shape_4(1, 4, 4, 2));
    graph_freeze(graph, true);
    x = graph_conv2d(graph, "conv1", x, 2, 3, (struct op_window){.kernel = 1, .stride = 1});
    graph_freeze(graph, false);
    x = graph_conv2d(graph, "conv2", x, 3, 3, (struct op_window){.kernel = 1, .stride = 1});
    (void)graph_keep(graph, graph_batch_norm(graph, "bn2", x, norm), "y");
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(store, *backend, graph, NULL), 0);
}

/* Every element of ARENA is VALUE. */
static void fill(struct store *store, enum store_arena arena, float value) {
    float *values = store->arena[arena];
    for (size_t i = 0; i < store->count[arena]; i++)
        values[i] = value;
}

static bool is_full_of(const struct store *store, enum store_arena arena, float value) {
    const float *values = store->arena[arena];
    bool same = store->count[arena] > 0;
    for (size_t i = 0; i < store->count[arena]; i++)
        same = same && values[i] == value;
    return same;
}

static const enum store_arena SPREAD[] = {STORE_PARAMETERS, STORE_STATE, STORE_CONSTANTS,
                                          STORE_MOMENTUM};

/* What rank 0 has is 1, 2, 3 and 4 in these arenas, what rank 1 has 9. */
static void spread(struct store *store, bool momentum) {
    struct error err = {0};
    two.size = two.heard = 0;
    for (int i = 0; i < 4; i++)
        fill(store, SPREAD[i], (float)(i + 1));
    CU_ASSERT_EQUAL(weights_spread(store, is_rank(&two, 0, 2), momentum, &err), 0);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT(is_full_of(store, SPREAD[i], (float)(i + 1)));
        fill(store, SPREAD[i], 9);
    }
    CU_ASSERT_EQUAL(weights_spread(store, is_rank(&two, 1, 2), momentum, &err), 0);
    CU_ASSERT_EQUAL(two.heard, two.size);
    for (int i = 0; i < 4; i++)
        CU_ASSERT(is_full_of(store, SPREAD[i], i < 3 || momentum ? (float)(i + 1) : 9));
}

static void all_ranks_get_what_the_first_one_has(void) {
    struct graph graph;
    struct store store = {0};
    struct backend *backend = NULL;
    struct error err = {0};
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, &err), 0);
    build(&graph, &store, &backend);
    spread(&store, true);
    spread(&store, false);
    uint64_t before = store.version;
    CU_ASSERT_EQUAL(weights_spread(&store, self, true, &err), 0);
    CU_ASSERT_EQUAL(store.version, before); /* packed weights stay */
    two.gone = true;
    CU_ASSERT_EQUAL(weights_spread(&store, is_rank(&two, 0, 2), true, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    ASSERT_CONTAINS(err.text, "spreading parameters: a rank is gone");
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

UNIT_SUITE("app.weights_spread", UNIT(all_ranks_get_what_the_first_one_has))
