#include "tests/cuda/lanes_emulated.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 1 << 16, NEVER = -1, OUT_OF_REACH = -2 };

enum kind { CALL, MARK, WAIT, REPLAY };

struct item {
    enum kind kind;
    enum backend_lane lane;
    struct lanes_call call;
    long mark;                /* MARK, WAIT: its serial */
    int seen[BACKEND_LANES];  /* MARK in a recording: calls of each lane in front of it */
    struct recording *replay; /* borrowed */
};

struct list {
    struct item *items;
    size_t head, count, capacity;
};

/* Lanes that run together: the device's, or for a while those of one recording. */
struct world {
    struct list lanes[BACKEND_LANES];
    bool *reached; /* per serial, from `first` on */
    size_t capacity;
    long first;
};

struct recording {
    struct list items; /* in the order in which they were enqueued */
    long first, end;   /* serials of its marks */
};

struct emulated_lanes {
    struct backend *backend;
    enum lanes_order order;
    uint64_t random;
    enum backend_lane selected;
    struct world world;
    long next_mark;
    long set[BACKEND_MARKS]; /* serial of the mark last set, NEVER, OUT_OF_REACH */
    struct recording *recording;
    bool takes_part[BACKEND_LANES];
    int calls[BACKEND_LANES];               /* so far in the recording */
    int seen[BACKEND_LANES][BACKEND_LANES]; /* calls that a lane has waited for */
};

static int push(struct list *list, const struct item *item, struct error *err) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 256 : 2 * list->capacity;
        struct item *items =
            capacity > ITEMS_MAX ? NULL : realloc(list->items, capacity * sizeof(*list->items));
        if (items == NULL)
            return error_no_memory(err, "emulated lanes");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *item;
    return 0;
}

static int add_serial(struct world *w, long serial, struct error *err) {
    size_t place = (size_t)(serial - w->first);
    if (place >= w->capacity) {
        size_t capacity = 2 * place + 256;
        bool *reached = realloc(w->reached, capacity * sizeof(*reached));
        if (reached == NULL)
            return error_no_memory(err, "emulated marks");
        memset(reached + w->capacity, 0, (capacity - w->capacity) * sizeof(*reached));
        w->reached = reached;
        w->capacity = capacity;
    }
    return 0;
}

static void world_done(struct world *w) {
    for (int i = 0; i < BACKEND_LANES; i++)
        free(w->lanes[i].items);
    free(w->reached);
}

/* --- running ---------------------------------------------------------------------------------- */

static int drain(struct emulated_lanes *l, struct world *w, long until, struct error *err);

static int run_recording(struct emulated_lanes *l, const struct recording *r, struct error *err) {
    struct world w = {.first = r->first};
    int result = add_serial(&w, r->end, err);
    for (size_t i = 0; result == 0 && i < r->items.count; i++)
        result = push(&w.lanes[r->items.items[i].lane], &r->items.items[i], err);
    if (result == 0)
        result = drain(l, &w, NEVER, err);
    world_done(&w);
    return result;
}

static bool can_run(const struct world *w, int lane) {
    const struct list *list = &w->lanes[lane];
    if (list->head == list->count)
        return false;
    const struct item *item = &list->items[list->head];
    return item->kind != WAIT || w->reached[item->mark - w->first];
}

/* The lane whose turn it is, or -1. */
static int choose(struct emulated_lanes *l, const struct world *w) {
    static const int orders[][BACKEND_LANES] = {
        [LANES_MAIN_FIRST] = {LANE_MAIN, LANE_COPY, LANE_SIDE},
        [LANES_SIDE_FIRST] = {LANE_COPY, LANE_SIDE, LANE_MAIN},
        [LANES_MIXED] = {LANE_MAIN, LANE_SIDE, LANE_COPY},
    };
    unsigned start = 0;
    if (l->order == LANES_MIXED) {
        l->random = l->random * 6364136223846793005U + 1442695040888963407U;
        start = (unsigned)(l->random >> 33);
    }
    for (unsigned i = 0; i < BACKEND_LANES; i++) {
        int lane = orders[l->order][(start + i) % BACKEND_LANES];
        if (can_run(w, lane))
            return lane;
    }
    return -1;
}

static int run_item(struct emulated_lanes *l, struct world *w, const struct item *item,
                    struct error *err) {
    switch (item->kind) {
    case CALL:
        return item->call.run(l->backend, &item->call, err);
    case MARK:
        w->reached[item->mark - w->first] = true;
        return 0;
    case WAIT:
        return 0;
    case REPLAY:
        return run_recording(l, item->replay, err);
    }
    return -1;
}

/* Runs until mark UNTIL is reached, or all lanes are empty. */
static int drain(struct emulated_lanes *l, struct world *w, long until, struct error *err) {
    while (until < 0 || !w->reached[until - w->first]) {
        int lane = choose(l, w);
        if (lane < 0) {
            bool empty = true;
            for (int i = 0; i < BACKEND_LANES; i++)
                empty = empty && w->lanes[i].head == w->lanes[i].count;
            return empty ? 0 : error_set(err, EXIT_CODE_INTERNAL, "lanes wait for each other");
        }
        struct list *list = &w->lanes[lane];
        struct item item = list->items[list->head++];
        if (list->head == list->count)
            list->head = list->count = 0;
        if (run_item(l, w, &item, err) != 0)
            return -1;
    }
    return 0;
}

/* --- enqueuing -------------------------------------------------------------------------------- */

static int enqueue(struct emulated_lanes *l, struct item *item, struct error *err) {
    item->lane = l->selected;
    if (l->recording == NULL)
        return push(&l->world.lanes[l->selected], item, err);
    if (!l->takes_part[l->selected])
        return error_set(err, EXIT_CODE_INTERNAL, "lane %d takes no part in the recording",
                         l->selected);
    return push(&l->recording->items, item, err);
}

int emulated_lanes_open(struct emulated_lanes **ret, struct backend *backend,
                        enum lanes_order order, uint64_t seed, struct error *err) {
    struct emulated_lanes *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return error_no_memory(err, "emulated lanes");
    l->backend = backend;
    l->order = order;
    l->random = seed;
    for (int i = 0; i < BACKEND_MARKS; i++)
        l->set[i] = NEVER;
    *ret = l;
    return 0;
}

void emulated_lanes_close(struct emulated_lanes *l) {
    if (l == NULL)
        return;
    world_done(&l->world);
    free(l);
}

int emulated_lanes_add(struct emulated_lanes *l, const struct lanes_call *call, struct error *err) {
    struct item item = {.kind = CALL, .call = *call};
    l->calls[l->selected]++;
    l->seen[l->selected][l->selected] = l->calls[l->selected];
    return enqueue(l, &item, err);
}

void emulated_lanes_select(struct emulated_lanes *l, enum backend_lane lane) {
    l->selected = lane;
}

int emulated_lanes_mark(struct emulated_lanes *l, int number, struct error *err) {
    struct item item = {.kind = MARK, .mark = l->next_mark++};
    memcpy(item.seen, l->seen[l->selected], sizeof(item.seen));
    l->set[number] = item.mark;
    if (l->recording == NULL && add_serial(&l->world, item.mark, err) != 0)
        return -1;
    return enqueue(l, &item, err);
}

/* The lane comes to know what the mark's lane knew. */
static void learn(struct emulated_lanes *l, long mark) {
    const struct list *items = &l->recording->items;
    for (size_t i = 0; i < items->count; i++)
        if (items->items[i].kind == MARK && items->items[i].mark == mark)
            for (int k = 0; k < BACKEND_LANES; k++)
                if (items->items[i].seen[k] > l->seen[l->selected][k])
                    l->seen[l->selected][k] = items->items[i].seen[k];
}

int emulated_lanes_wait(struct emulated_lanes *l, int number, struct error *err) {
    struct item item = {.kind = WAIT, .mark = l->set[number]};
    if (item.mark == OUT_OF_REACH)
        return error_set(err, EXIT_CODE_INTERNAL, "mark %d was set in a recording", number);
    if (l->recording != NULL) {
        if (item.mark < l->recording->first)
            return error_set(err, EXIT_CODE_INTERNAL, "mark %d is not of the recording", number);
        l->takes_part[l->selected] = true;
        learn(l, item.mark);
    }
    return item.mark == NEVER ? 0 : enqueue(l, &item, err);
}

int emulated_lanes_reach(struct emulated_lanes *l, int number, struct error *err) {
    if (l->recording != NULL || l->set[number] == OUT_OF_REACH)
        return error_set(err, EXIT_CODE_INTERNAL, "waiting for mark %d of a recording", number);
    return l->set[number] == NEVER ? 0 : drain(l, &l->world, l->set[number], err);
}

int emulated_lanes_sync(struct emulated_lanes *l, struct error *err) {
    enum backend_lane before = l->selected;
    struct item item = {.kind = MARK, .mark = l->next_mark++};
    if (l->recording != NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "waiting in a recording");
    l->selected = LANE_MAIN;
    int result = add_serial(&l->world, item.mark, err) != 0 || enqueue(l, &item, err) != 0
                     ? -1
                     : drain(l, &l->world, item.mark, err);
    l->selected = before;
    return result;
}

/* --- recordings ------------------------------------------------------------------------------- */

int emulated_lanes_record_begin(struct emulated_lanes *l, struct error *err) {
    l->recording = calloc(1, sizeof(*l->recording));
    if (l->recording == NULL)
        return error_no_memory(err, "a recording");
    l->recording->first = l->next_mark;
    memset(l->takes_part, 0, sizeof(l->takes_part));
    memset(l->calls, 0, sizeof(l->calls));
    memset(l->seen, 0, sizeof(l->seen));
    l->takes_part[LANE_MAIN] = true;
    return 0;
}

int emulated_lanes_record_end(struct emulated_lanes *l, void **ret_recording, struct error *err) {
    struct recording *r = l->recording;
    l->recording = NULL;
    r->end = l->next_mark;
    for (int i = 0; i < BACKEND_MARKS; i++)
        if (l->set[i] >= r->first)
            l->set[i] = OUT_OF_REACH;
    for (int i = 0; i < BACKEND_LANES; i++)
        if (l->seen[LANE_MAIN][i] < l->calls[i]) {
            emulated_lanes_forget(r);
            return error_set(err, EXIT_CODE_INTERNAL, "lane %d was not joined", i);
        }
    *ret_recording = r;
    return 0;
}

int emulated_lanes_replay(struct emulated_lanes *l, void *recording, struct error *err) {
    struct item item = {.kind = REPLAY, .replay = recording};
    return enqueue(l, &item, err);
}

void emulated_lanes_forget(void *recording) {
    struct recording *r = recording;
    free(r->items.items);
    free(r);
}
