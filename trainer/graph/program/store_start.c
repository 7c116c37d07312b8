/* Start values of parameters, states and constants. */
#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/graph/program/store.h"
#include "trainer/math/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements that a thread fills at once: as many 32-bit numbers are whole blocks of the generator.
 */
enum { CHUNK = 16 * 1024 };

/* 32-bit numbers that an element takes: two doubles for a normal one, one for a uniform one. */
enum { NUMBERS_NORMAL = 4, NUMBERS_UNIFORM = 2 };

/* What a slot is filled with. */
struct start {
    const struct store_slot *slot;
    struct random random; /* the beginning of the slot's stream */
    double spread;        /* deviation of a normal, bound of a uniform initialization */
    enum dtype dtype;
    void *values; /* slot->count of them */
};

static int numbers_of(enum tensor_init init) {
    return init >= INIT_NORMAL_FAN_OUT && init <= INIT_NORMAL_THOUSANDTH ? NUMBERS_NORMAL
                                                                         : NUMBERS_UNIFORM;
}

static double start_value(const struct store_slot *slot, struct random *random, double spread) {
    switch (slot->init) {
    case INIT_ZERO:
        break;
    case INIT_ONE:
        return 1;
    case INIT_NORMAL_FAN_OUT:
    case INIT_NORMAL_TENTH:
    case INIT_NORMAL_HUNDREDTH:
    case INIT_NORMAL_THOUSANDTH:
        return spread * random_normal(random);
    case INIT_UNIFORM_FAN_IN:
    case INIT_UNIFORM_FAN_IN_3:
    case INIT_UNIFORM_BIAS:
        return random_between(random, -spread, spread);
    }
    return 0;
}

/* Returns the deviation of a normal, or the bound of a uniform initialization. */
static double start_spread(const struct store_slot *slot) {
    const int64_t *dim = slot->shape.dim;
    double area = slot->shape.rank == 4 ? (double)(dim[1] * dim[2]) : 1;
    double inputs = (double)dim[slot->shape.rank - 1];
    switch (slot->init) {
    case INIT_NORMAL_FAN_OUT:
        return sqrt(2.0 / ((double)dim[0] * area));
    case INIT_NORMAL_TENTH:
        return 0.1;
    case INIT_NORMAL_HUNDREDTH:
        return 0.01;
    case INIT_NORMAL_THOUSANDTH:
        return 0.001;
    case INIT_UNIFORM_FAN_IN:
        return 1.0 / sqrt(inputs * area);
    case INIT_UNIFORM_BIAS:
        return 1.0 / sqrt((double)slot->init_fan);
    case INIT_UNIFORM_FAN_IN_3:
        return sqrt(3.0 / (inputs * area));
    default:
        return 0;
    }
}

static void fill_chunk(const struct start *start, size_t begin, size_t end) {
    struct random random = start->random;
    random_seek(&random, (uint32_t)(begin / RANDOM_BLOCK * (size_t)numbers_of(start->slot->init)));
    for (size_t i = begin; i < end; i++) {
        const float value = (float)start_value(start->slot, &random, start->spread);
        if (start->dtype == DTYPE_F64)
            ((double *)start->values)[i] = (double)value;
        else
            ((float *)start->values)[i] = value;
    }
}

/* Each element's numbers have a fixed place in the stream, so the values are the same on any
 * number of threads. In an arena of the host these are the first to touch its pages. */
static void fill(const struct start *start) {
    const size_t count = start->slot->count;
#pragma omp parallel for schedule(dynamic) if (count > CHUNK)
    for (size_t begin = 0; begin < count; begin += CHUNK)
        fill_chunk(start, begin, count - begin < CHUNK ? count : begin + CHUNK);
}

static int start_slot(struct store *store, const struct store_slot *slot, uint64_t seed,
                      struct error *err) {
    const bool host = store->backend->table->device == NULL;
    struct start start = {
        .slot = slot,
        .random = random_stream(seed, 0, str_hash(STR_HASH_START, slot->name, strlen(slot->name))),
        .spread = start_spread(slot),
        .dtype = store->dtype,
    };
    if (host) {
        start.values = store_at(store, slot, slot->home);
        fill(&start);
        store_changed(store);
        return 0;
    }
    cleanup_free void *values = malloc(slot->count * dtype_size(store->dtype));
    if (values == NULL)
        return error_no_memory(err, "start values");
    start.values = values;
    fill(&start);
    return store_write(store, slot, slot->home, values, err);
}

int store_start(struct store *store, uint64_t seed, struct error *err) {
    for (int i = 0; i < store->slot_count; i++)
        if (start_slot(store, &store->slots[i], seed, err) != 0)
            return error_wrap(err, "%s", store->slots[i].name);
    return 0;
}
