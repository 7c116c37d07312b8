#include "tests/support/host_device.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/store.h"
#include "trainer/math/bf16.h"

#include <math.h>
#include <string.h>

/* The store of compiled networks: where values lie, which copies there are, and when these are made
 * anew. The first part is on the reference backend, where arenas are host memory. The second is on
 * a device that is played by the host (tests/support/host_device.h): it keeps account of memory and
 * calls, and fails at a call of choice. */

/* Slots neither overlap nor share a group. The last layer's weights come first, the first layer's
 * last. */
static void places_are_aligned_and_in_the_order_of_backward(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.fusion = FUSION_ALL});
    const struct store *store = &net.store;
    size_t end = 0;
    for (int i = 0; i < store->slot_count && store->slots[i].home == STORE_PARAMETERS; i++) {
        CU_ASSERT(store->slots[i].first >= end);
        CU_ASSERT_EQUAL(store->slots[i].first * sizeof(float) % STORE_ALIGNMENT, 0);
        end = store->slots[i].first + store->slots[i].count;
    }
    CU_ASSERT_STRING_EQUAL(store->slots[0].name, "fc.weight");
    CU_ASSERT(store_find(store, "layer3.2.conv2.weight")->first <
              store_find(store, "layer3.2.conv1.weight")->first);
    CU_ASSERT(store_find(store, "layer1.0.conv1.weight")->first <
              store_find(store, "conv1.weight")->first);
    CU_ASSERT_EQUAL(store->count[STORE_MOMENTUM], store->count[STORE_PARAMETERS]);
    net_done(&net);
}

/* A name that the network does not have leads to no slot. */
static void states_have_no_gradient_and_parameters_no_state(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    const struct store_slot *mean = store_find(&net.store, "bn1.running_mean");
    const struct store_slot *weight = store_find(&net.store, "bn1.weight");
    CU_ASSERT_PTR_NULL(store_at(&net.store, mean, STORE_GRADIENTS));
    CU_ASSERT_PTR_NOT_NULL(store_at(&net.store, mean, STORE_STATE));
    CU_ASSERT_PTR_NULL(store_at(&net.store, weight, STORE_STATE));
    CU_ASSERT_PTR_NOT_NULL(store_at(&net.store, weight, STORE_MOMENTUM));
    CU_ASSERT_PTR_NULL(store_find(&net.store, "bn2.weight"));
    net_done(&net);
}

/* Adds a parameter that nothing reads: it has no gradient, and follows all that do. Its five values
 * take a whole group of 16. */
static void what_has_no_gradient_lies_behind_what_is_trained(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    CU_ASSERT_EQUAL(net.store.trained, net.store.count[STORE_PARAMETERS]);
    CU_ASSERT(store_find(&net.store, "bn1.weight")->trained);
    CU_ASSERT_FALSE(store_find(&net.store, "bn1.running_mean")->trained);
    struct store store = {0};
    struct error err = {0};
    (void)graph_parameter(&net.graph, "idle", shape_1(5), INIT_ONE, 0);
    CU_ASSERT_EQUAL_FATAL(store_init(&store, net.backend, &net.graph, &err), 0);
    const struct store_slot *idle = store_find(&store, "idle");
    CU_ASSERT_FALSE(idle->trained);
    CU_ASSERT_EQUAL(store.trained, net.store.trained);
    CU_ASSERT_EQUAL(idle->first, store.trained);
    CU_ASSERT_EQUAL(store.count[STORE_PARAMETERS], store.trained + 16);
    store_done(&store);
    net_done(&net);
}

/* Nor state of an optimizer. */
static void evaluation_alone_needs_no_gradients(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, false), (struct compile_options){0});
    CU_ASSERT_PTR_NULL(net.store.arena[STORE_GRADIENTS]);
    CU_ASSERT_PTR_NULL(net.store.arena[STORE_MOMENTUM]);
    CU_ASSERT_PTR_NOT_NULL(net.store.arena[STORE_PARAMETERS]);
    net_done(&net);
}

/* Norms of shortcuts and all others start at one. */
static void zero_gamma_zeroes_the_last_norm_of_each_block_alone(void) {
    struct net net;
    struct resnet_config config = net_config("resnet20", 1, 8, true);
    config.zero_gamma = true;
    net_init(&net, NULL, config, (struct compile_options){0});
    net_start(&net);
    static const struct {
        const char *name;
        float value;
    } rows[] = {{"layer1.0.bn1.weight", 1},          {"layer1.0.bn2.weight", 0},
                {"layer2.0.downsample.1.weight", 1}, {"layer3.2.bn1.weight", 1},
                {"layer3.2.bn2.weight", 0},          {"bn1.weight", 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct store_slot *slot = store_find(&net.store, rows[i].name);
        const float *gamma = store_at(&net.store, slot, STORE_PARAMETERS);
        CU_ASSERT_EQUAL(gamma[0], rows[i].value);
        CU_ASSERT_EQUAL(gamma[slot->count - 1], rows[i].value);
    }
    net_done(&net);
}

/* In any arena that has values of the slot; others are an error that names it. */
static void what_is_written_can_be_read(void) {
    struct net net;
    struct error err = {0};
    float in[16], out[16];
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    const struct store_slot *slot = store_find(&net.store, "bn1.bias");
    for (int i = 0; i < 16; i++)
        in[i] = (float)i;
    CU_ASSERT_EQUAL_FATAL(slot->count, 16);
    CU_ASSERT_EQUAL(store_write(&net.store, slot, STORE_MOMENTUM, in, &err), 0);
    CU_ASSERT_EQUAL(store_read(&net.store, slot, STORE_MOMENTUM, out, &err), 0);
    CU_ASSERT_EQUAL(memcmp(in, out, sizeof(in)), 0);
    CU_ASSERT_EQUAL(store_read(&net.store, slot, STORE_STATE, out, &err), -1);
    ASSERT_CONTAINS(err.text, "bn1.bias");
    net_done(&net);
}

/* --- on a device ------------------------------------------------------------------------------ */

/* Opens a network that trains in DTYPE on the device, which net_done closes. */
static void open_on_device(struct net *net, struct host_device *d, enum dtype dtype) {
    struct resnet_config config = net_config("bottleneck", 1, 8, true);
    config.dtype = dtype;
    host_device_open(d);
    net_init(net, &d->base, config, (struct compile_options){.fusion = FUSION_ALL});
}

/* Returns true if MEMORY is a block of the device with so many bytes, of the kind for sums or of
 * the other. */
static bool lies_in(const struct host_device *d, const void *memory, size_t bytes, bool summed) {
    const struct host_device_block *block = host_device_block(d, memory);
    return block != NULL && block->bytes == bytes && block->summed == summed;
}

/* Only the gradients are in memory for sums, and only if the device has such memory. All of it is
 * given back: closing the device says so. */
static void gradients_lie_where_ranks_sum_them(void) {
    struct net net;
    struct host_device d;
    open_on_device(&net, &d, DTYPE_F32);
    for (int i = 0; i < STORE_ARENAS; i++) {
        size_t bytes = net.store.count[i] * sizeof(float);
        CU_ASSERT_EQUAL(net.store.arena[i] == NULL, bytes == 0);
        CU_ASSERT(bytes == 0 || lies_in(&d, net.store.arena[i], bytes, i == STORE_GRADIENTS));
    }
    net_done(&net);
    host_device_open(&d);
    d.device.alloc_summed = NULL;
    net_init(&net, &d.base, net_config("bottleneck", 1, 8, true), (struct compile_options){0});
    CU_ASSERT(lies_in(&d, net.store.arena[STORE_GRADIENTS],
                      net.store.count[STORE_GRADIENTS] * sizeof(float), false));
    net_done(&net);
}

/* A copy is made when values have changed, and not after an update, which writes both. Each element
 * is the rounded wide value. */
static void the_half_copy_follows_what_is_written(void) {
    struct net net;
    struct host_device d;
    struct error err = {0};
    open_on_device(&net, &d, DTYPE_BF16);
    struct store *store = &net.store;
    CU_ASSERT_EQUAL(store->half_copy.count, store->count[STORE_PARAMETERS]);
    CU_ASSERT_PTR_EQUAL(store->half_copy.wide, store->arena[STORE_PARAMETERS]);
    CU_ASSERT(lies_in(&d, store->half_copy.half, 2 * store->half_copy.count, false));
    CU_ASSERT_EQUAL(store_refresh_half(store, &err), 0);
    CU_ASSERT_EQUAL(d.half_count, 1);
    uint64_t version = store->version;
    store_updated(store);
    CU_ASSERT_EQUAL(store->version, version + 1);
    CU_ASSERT_EQUAL(store_refresh_half(store, &err), 0);
    CU_ASSERT_EQUAL(d.half_count, 1);
    net_start(&net);
    CU_ASSERT(store->version > version + 1);
    CU_ASSERT_EQUAL(store_refresh_half(store, &err), 0);
    CU_ASSERT_EQUAL(d.half_count, 2);
    const float *wide = store->arena[STORE_PARAMETERS];
    const uint16_t *half = store->half_copy.half;
    for (size_t i = 0; i < store->half_copy.count; i++)
        CU_ASSERT_EQUAL(half[i], bf16_from_f32(wide[i]));
    net_done(&net);
}

/* A failure leaves the copy stale. */
static void a_half_copy_that_fails_is_made_again(void) {
    struct net net;
    struct host_device d;
    struct error err = {0};
    open_on_device(&net, &d, DTYPE_BF16);
    d.fail_at = d.calls + 1;
    CU_ASSERT_EQUAL(store_refresh_half(&net.store, &err), -1);
    ASSERT_CONTAINS(err.text, "parameters in bf16: the device is gone");
    CU_ASSERT_EQUAL(store_refresh_half(&net.store, &err), 0);
    CU_ASSERT_EQUAL(d.half_count, 2);
    net_done(&net);
}

/* Neither in f32, nor on a device that wants none; gradients in half precision are another
 * matter. */
static void wide_activations_have_no_half_copies(void) {
    for (int i = 0; i < 2; i++) {
        struct net net;
        struct host_device d;
        struct error err = {0};
        host_device_open(&d);
        struct resnet_config config = net_config("bottleneck", 1, 8, true);
        if (i == 1) { /* a device that wants none */
            config.dtype = DTYPE_BF16;
            d.device.refresh_half = NULL;
        }
        net_init(&net, &d.base, config, (struct compile_options){0});
        CU_ASSERT_PTR_NULL(net.store.half_copy.half);
        CU_ASSERT_EQUAL(store_refresh_half(&net.store, &err), 0);
        CU_ASSERT_EQUAL(d.half_count, 0);
        CU_ASSERT_EQUAL(net.store.gradients.half != NULL, i == 1);
        CU_ASSERT_PTR_EQUAL(net.store.gradients.wide, net.store.arena[STORE_GRADIENTS]);
        net_done(&net);
    }
}

/* A flag for every 64 bytes of f32: set in the places of convolutions' weights alone. In f32 there
 * is no second arena. */
static void gradients_of_convolutions_lie_beside_the_others(void) {
    struct net net;
    struct host_device d;
    open_on_device(&net, &d, DTYPE_BF16);
    const struct store *store = &net.store;
    size_t groups = store->count[STORE_GRADIENTS] / 16, found = 0;
    CU_ASSERT(lies_in(&d, store->half_mask, groups, false));
    CU_ASSERT(lies_in(&d, store->gradients.half, 2 * store->count[STORE_GRADIENTS], false));
    CU_ASSERT_EQUAL(store_beside_gradients(store), 2 * store->count[STORE_GRADIENTS] + groups);
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (slot->home != STORE_PARAMETERS)
            continue;
        bool conv = slot->shape.rank == 4;
        for (size_t k = slot->first / 16; k < (slot->first + slot->count + 15) / 16; k++)
            CU_ASSERT_EQUAL(store->gradients.half_mask[k], conv);
        const char *at = conv ? (char *)store->gradients.half + 2 * slot->first
                              : (char *)store->arena[STORE_GRADIENTS] + 4 * slot->first;
        CU_ASSERT_EQUAL(slot->half_gradient, conv);
        CU_ASSERT_PTR_EQUAL(store_gradient_at(store, slot), at);
        found += conv;
    }
    CU_ASSERT_EQUAL(found, net_count(&net, OP_CONV2D));
    CU_ASSERT_EQUAL(store->gradients.half_mask[groups - 1], 0); /* the flags */
    net_done(&net);
    open_on_device(&net, &d, DTYPE_F32);
    CU_ASSERT_EQUAL(store_beside_gradients(&net.store), 0);
    const struct store_slot *conv = store_find(&net.store, "stem.conv.weight");
    CU_ASSERT_PTR_EQUAL(store_gradient_at(&net.store, conv),
                        store_at(&net.store, conv, STORE_GRADIENTS));
    net_done(&net);
}

/* A reader of all gradients also gets those that are stored in the other type: each reading widens
 * them anew. Other arenas need no such call, and a failure of it is the reader's. */
static void gradients_are_read_as_they_are(void) {
    struct net net;
    struct host_device d;
    struct error err = {0};
    void *pulled = NULL;
    open_on_device(&net, &d, DTYPE_BF16);
    struct store *store = &net.store;
    const struct store_slot *slot = store_find(store, "stem.conv.weight");
    float values[9 * 3 * 8];
    CU_ASSERT_EQUAL_FATAL(slot->count, 9 * 3 * 8);
    uint16_t *half = store_gradient_at(store, slot);
    half[5] = bf16_from_f32(3);
    CU_ASSERT_EQUAL(store_read(store, slot, STORE_GRADIENTS, values, &err), 0);
    CU_ASSERT_EQUAL(values[5], 3);
    CU_ASSERT_EQUAL(d.add_count, 1);
    half[5] = bf16_from_f32(-7);
    CU_ASSERT_EQUAL(store_pull(store, STORE_GRADIENTS, &pulled, &err), 0);
    CU_ASSERT_EQUAL(((const float *)pulled)[slot->first + 5], -7);
    CU_ASSERT_EQUAL(store_read(store, slot, STORE_MOMENTUM, values, &err), 0);
    CU_ASSERT_EQUAL(store_pull(store, STORE_MOMENTUM, &pulled, &err), 0);
    CU_ASSERT_EQUAL(d.add_count, 2);
    for (int i = 0; i < 2; i++) {
        d.fail_at = d.calls + 1;
        CU_ASSERT_EQUAL(i == 0 ? store_read(store, slot, STORE_GRADIENTS, values, &err)
                               : store_pull(store, STORE_GRADIENTS, &pulled, &err),
                        -1);
        ASSERT_CONTAINS(err.text, "the device is gone");
    }
    net_done(&net);
}

/* The copy is the same memory at each pull. Pushing changes the version, so that weights are packed
 * anew. An arena that nobody has pulled is not pushed. */
static void a_pulled_arena_is_a_copy_until_it_is_pushed(void) {
    struct net net;
    struct host_device d;
    struct error err = {0};
    void *first = NULL, *again = NULL;
    open_on_device(&net, &d, DTYPE_F32);
    net_start(&net);
    struct store *store = &net.store;
    size_t bytes = store->count[STORE_PARAMETERS] * sizeof(float);
    float *arena = store->arena[STORE_PARAMETERS];
    CU_ASSERT_EQUAL(store_pull(store, STORE_PARAMETERS, &first, &err), 0);
    CU_ASSERT_PTR_NOT_EQUAL(first, arena);
    CU_ASSERT_EQUAL(memcmp(first, arena, bytes), 0);
    float before = arena[7];
    ((float *)first)[7] = before + 1;
    CU_ASSERT_EQUAL(arena[7], before);
    uint64_t version = store->version;
    CU_ASSERT_EQUAL(store_push(store, STORE_PARAMETERS, &err), 0);
    CU_ASSERT_EQUAL(arena[7], before + 1);
    CU_ASSERT(store->version > version && store->half_stale);
    arena[7] = before;
    CU_ASSERT_EQUAL(store_pull(store, STORE_PARAMETERS, &again, &err), 0);
    CU_ASSERT_PTR_EQUAL(again, first);
    CU_ASSERT_EQUAL(((const float *)again)[7], before);
    CU_ASSERT_EQUAL(store_push(store, STORE_STATE, &err), 0); /* nobody has a copy */
    CU_ASSERT_EQUAL(store_pull(store, STORE_CONSTANTS, &again, &err), 0);
    CU_ASSERT_PTR_NULL(again);
    net_done(&net);
}

/* Without a device there is no copy; pushing only says that values have changed. */
static void a_host_pulls_the_arena_itself(void) {
    struct net net;
    struct error err = {0};
    void *pulled = NULL;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    CU_ASSERT_EQUAL(store_pull(&net.store, STORE_GRADIENTS, &pulled, &err), 0);
    CU_ASSERT_PTR_EQUAL(pulled, net.store.arena[STORE_GRADIENTS]);
    uint64_t version = net.store.version;
    CU_ASSERT_EQUAL(store_push(&net.store, STORE_PARAMETERS, &err), 0);
    CU_ASSERT_EQUAL(net.store.version, version + 1);
    net_done(&net);
}

UNIT_SUITE("graph.store", UNIT(places_are_aligned_and_in_the_order_of_backward),
           UNIT(states_have_no_gradient_and_parameters_no_state),
           UNIT(evaluation_alone_needs_no_gradients),
           UNIT(what_has_no_gradient_lies_behind_what_is_trained),
           UNIT(zero_gamma_zeroes_the_last_norm_of_each_block_alone),
           UNIT(what_is_written_can_be_read), UNIT(gradients_lie_where_ranks_sum_them),
           UNIT(the_half_copy_follows_what_is_written), UNIT(a_half_copy_that_fails_is_made_again),
           UNIT(wide_activations_have_no_half_copies),
           UNIT(gradients_of_convolutions_lie_beside_the_others),
           UNIT(gradients_are_read_as_they_are), UNIT(a_pulled_arena_is_a_copy_until_it_is_pushed),
           UNIT(a_host_pulls_the_arena_itself))
