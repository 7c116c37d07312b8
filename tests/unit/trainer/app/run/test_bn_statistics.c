/* Running statistics of two ranks, only one of which is simulated at a time. */
#include "trainer/app/run/bn_statistics.h"

#include "tests/unit/trainer/app/run/two_ranks.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"

#include <stdio.h>

/* Statistics of two norms, of 3 and of 5 channels. */
static const char *const NAMES[] = {"bn1.running_mean", "bn1.running_var", "bn2.running_mean",
                                    "bn2.running_var"};
static const size_t SIZES[] = {3, 3, 5, 5};
enum { SLOTS = 4, ELEMENTS_MAX = 256 };

static struct graph graph;
static struct run_steps steps;
static struct comm *comm;
static struct backend *backend;
static struct two_ranks two;
static float other[ELEMENTS_MAX];

static float own_value(int rank, int slot, size_t i) {
    return (float)(100 * rank + 10 * slot) + (float)i;
}

static float *values_of(int slot) {
    return store_at(&steps.net.store, store_find(&steps.net.store, NAMES[slot]), STORE_STATE);
}

static void fill(float *arena, int rank) {
    const float *begin = steps.net.store.arena[STORE_STATE];
    for (int slot = 0; slot < SLOTS; slot++)
        for (size_t i = 0; i < SIZES[slot]; i++)
            arena[(values_of(slot) - begin) + (ptrdiff_t)i] = own_value(rank, slot, i);
}

/* Makes this process RANK of a job of RANKS ranks, with that rank's statistics. */
static void be(int rank, int ranks) {
    comm = is_rank(&two, rank, ranks);
    steps.own_statistics = true;
    fill(steps.net.store.arena[STORE_STATE], rank);
    fill(other, 1 - rank);
}

static void open_store(void) {
    const struct norm_options norm = {1e-5, 0.1, INIT_ONE};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 2));
    x = graph_conv2d(&graph, "conv1", x, 2, 3, (struct op_window){.kernel = 1, .stride = 1});
    x = graph_batch_norm(&graph, "bn1", x, norm);
    x = graph_conv2d(&graph, "conv2", x, 3, 5, (struct op_window){.kernel = 1, .stride = 1});
    (void)graph_keep(&graph, graph_batch_norm(&graph, "bn2", x, norm), "y");
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(&steps.net.store, backend, &graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&steps.net.store, 1, NULL), 0);
    CU_ASSERT_FATAL(steps.net.store.count[STORE_STATE] <= ELEMENTS_MAX);
    two.other = other;
}

static void close_store(void) {
    store_done(&steps.net.store);
    graph_done(&graph);
    backend_close(backend);
    CU_ASSERT_PTR_NULL(steps.net.store.slots);
}

/* Returns whether the store holds RANK's statistics. */
static bool holds(int rank) {
    bool same = true;
    for (int slot = 0; slot < SLOTS; slot++)
        for (size_t i = 0; i < SIZES[slot]; i++)
            same = same && values_of(slot)[i] == own_value(rank, slot, i);
    return same;
}

static float mean_of(int slot, size_t i) {
    return (own_value(0, slot, i) + own_value(1, slot, i)) / 2;
}

static void at_the_end_of_an_epoch_they_become_their_mean_once(void) {
    struct error err = {0};
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, &err), 0);
    be(1, 2);
    steps.own_statistics = false;
    CU_ASSERT_EQUAL(bn_statistics_average(&steps, comm, &err), 0);
    CU_ASSERT(holds(1));
    steps.own_statistics = true;
    CU_ASSERT_EQUAL(bn_statistics_average(&steps, comm, &err), 0);
    CU_ASSERT_FALSE(steps.own_statistics);
    for (int slot = 0; slot < SLOTS; slot++)
        for (size_t i = 0; i < SIZES[slot]; i++)
            CU_ASSERT_EQUAL(values_of(slot)[i], mean_of(slot, i));
    be(0, 2);
    comm = self;
    CU_ASSERT_EQUAL(bn_statistics_average(&steps, comm, &err), 0);
    CU_ASSERT(holds(0));
}

/* The errors name the operation that failed. */
static void a_rank_that_is_gone_ends_all(void) {
    struct bn_statistics s = {0};
    struct error err = {0};
    be(0, 2);
    two.gone = true;
    CU_ASSERT_EQUAL(bn_statistics_average(&steps, comm, &err), -1);
    ASSERT_CONTAINS(err.text, "averaging statistics: a rank is gone");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    CU_ASSERT_EQUAL(bn_statistics_gather(&s, &steps, comm, &err), -1);
    ASSERT_CONTAINS(err.text, "gathering statistics: a rank is gone");
    CU_ASSERT_EQUAL(s.count, 0);
    CU_ASSERT_EQUAL(bn_statistics_scatter(&s, &steps, comm, &err), -1);
    two.gone = false;
    two.size = 0;
}

static const char *path_of(const char *name) {
    static char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

/* Within an epoch, the mean is saved under the usual names, and every rank's own statistics are
 * saved as well and stay in the store. */
static void a_checkpoint_holds_the_mean_and_every_ranks_own(void) {
    cleanup_bn_statistics struct bn_statistics s = {0};
    cleanup_weights struct weights w = {0};
    struct error err = {0};
    struct array arrays[32];
    be(1, 2);
    CU_ASSERT_EQUAL(bn_statistics_gather(&s, &steps, comm, &err), 0);
    CU_ASSERT_EQUAL(s.count, 0);
    be(0, 2);
    CU_ASSERT_EQUAL_FATAL(bn_statistics_gather(&s, &steps, comm, &err), 0);
    CU_ASSERT_EQUAL_FATAL(s.count, SLOTS);
    CU_ASSERT_EQUAL_FATAL(weights_list(&w, &steps.net.store, WEIGHTS_MODEL, 0, &err), 0);
    bn_statistics_show_mean(&s, &steps, &w);
    for (size_t k = 0; k < w.count; k++) {
        int slot = 0;
        while (slot < SLOTS && strcmp(NAMES[slot], w.arrays[k].name) != 0)
            slot++;
        const float *values = w.arrays[k].data;
        for (size_t i = 0; slot < SLOTS && i < SIZES[slot]; i++)
            CU_ASSERT_EQUAL(values[i], mean_of(slot, i));
        if (slot == SLOTS)
            CU_ASSERT_PTR_EQUAL(values, store_at(&steps.net.store,
                                                 store_find(&steps.net.store, w.arrays[k].name),
                                                 STORE_PARAMETERS));
    }
    CU_ASSERT(holds(0));
    CU_ASSERT_FATAL(w.count + s.count <= sizeof(arrays) / sizeof(arrays[0]));
    memcpy(arrays, w.arrays, w.count * sizeof(*arrays));
    memcpy(arrays + w.count, s.arrays, s.count * sizeof(*arrays));
    CU_ASSERT_EQUAL_FATAL(
        safetensors_write(path_of("two"), arrays, w.count + s.count, NULL, 0, &err), 0);
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path_of("part"), s.arrays, 1, NULL, 0, &err), 0);
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path_of("none"), w.arrays, w.count, NULL, 0, &err), 0);
}

static void the_same_number_of_ranks_goes_on_with_its_own(void) {
    cleanup_bn_statistics struct bn_statistics s = {0}, mine = {0};
    cleanup_safetensors struct safetensors file = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path_of("two"), &err), 0);
    const struct safetensors_entry *entry =
        safetensors_find(&file, "rank_statistics.bn2.running_var");
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT(entry->rank == 2 && entry->shape[0] == 2 && entry->shape[1] == 5);
    be(0, 2);
    CU_ASSERT_EQUAL_FATAL(bn_statistics_read(&s, &steps, comm, &file, &err), 0);
    fill(steps.net.store.arena[STORE_STATE], 7);
    steps.own_statistics = false;
    CU_ASSERT_EQUAL(bn_statistics_scatter(&s, &steps, comm, &err), 0);
    CU_ASSERT(holds(0) && steps.own_statistics);
    be(1, 2);
    fill(steps.net.store.arena[STORE_STATE], 7);
    steps.own_statistics = false;
    CU_ASSERT_EQUAL(bn_statistics_scatter(&mine, &steps, comm, &err), 0);
    CU_ASSERT(holds(1) && steps.own_statistics);
    CU_ASSERT_EQUAL(two.heard, two.size);
}

/* They start with the mean, which the store already holds. */
static void another_number_of_ranks_goes_on_with_the_mean(void) {
    static const struct {
        const char *file;
        int ranks;
    } rows[] = {{"two", 3}, {"none", 2}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_bn_statistics struct bn_statistics s = {0};
        cleanup_safetensors struct safetensors file = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path_of(rows[i].file), &err), 0);
        for (int rank = 0; rank < 2; rank++) {
            be(rank, rows[i].ranks);
            steps.own_statistics = false;
            if (rank == 0)
                CU_ASSERT_EQUAL(bn_statistics_read(&s, &steps, comm, &file, &err), 0);
            CU_ASSERT(s.ranks == NULL && s.count == 0);
            CU_ASSERT_EQUAL(bn_statistics_scatter(&s, &steps, comm, &err), 0);
            CU_ASSERT(holds(rank) && !steps.own_statistics);
        }
    }
}

static void one_rank_needs_none(void) {
    cleanup_bn_statistics struct bn_statistics s = {0};
    cleanup_safetensors struct safetensors file = {0};
    cleanup_comm struct comm *self = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, &err), 0);
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path_of("two"), &err), 0);
    be(0, 1);
    comm = self;
    steps.own_statistics = false;
    CU_ASSERT_EQUAL(bn_statistics_read(&s, &steps, comm, &file, &err), 0);
    CU_ASSERT_PTR_NULL(s.ranks);
    CU_ASSERT_EQUAL(bn_statistics_scatter(&s, &steps, comm, &err), 0);
    CU_ASSERT(holds(0) && !steps.own_statistics);
}

static void a_file_that_has_a_part_of_them_is_refused(void) {
    cleanup_bn_statistics struct bn_statistics s = {0};
    cleanup_safetensors struct safetensors file = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path_of("part"), &err), 0);
    be(0, 2);
    CU_ASSERT_EQUAL(bn_statistics_read(&s, &steps, comm, &file, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "rank_statistics.bn");
}

UNIT_SUITE("app.bn_statistics", UNIT(open_store),
           UNIT(at_the_end_of_an_epoch_they_become_their_mean_once),
           UNIT(a_rank_that_is_gone_ends_all),
           UNIT(a_checkpoint_holds_the_mean_and_every_ranks_own),
           UNIT(the_same_number_of_ranks_goes_on_with_its_own),
           UNIT(another_number_of_ranks_goes_on_with_the_mean), UNIT(one_rank_needs_none),
           UNIT(a_file_that_has_a_part_of_them_is_refused), UNIT(close_store))
