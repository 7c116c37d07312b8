#include "tests/cuda/streams_emulated.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 1 << 16, NEVER = -1, OUT_OF_REACH = -2 };

enum kind { CALL, EVENT, WAIT, REPLAY };

struct item {
    enum kind kind;
    enum backend_stream stream;
    struct streams_call call;
    long event;                /* EVENT, WAIT: its serial */
    int seen[BACKEND_STREAMS]; /* EVENT in a recording: calls of each stream before it */
    struct recording *replay;  /* borrowed */
};

struct list {
    struct item *items;
    size_t head, count, capacity;
};

/* Streams that run together: the device's, or for a while those of one recording. */
struct world {
    struct list streams[BACKEND_STREAMS];
    bool *reached; /* per serial, from `first` on */
    size_t capacity;
    long first;
};

struct recording {
    struct list items; /* in the order in which they were enqueued */
    long first, end;   /* serials of its events */
};

struct emulated_streams {
    struct backend *backend;
    enum streams_order order;
    uint64_t random;
    enum backend_stream selected;
    struct world world;
    long next_event;
    long set[BACKEND_EVENTS]; /* serial of the event last set, NEVER, OUT_OF_REACH */
    struct recording *recording;
    bool takes_part[BACKEND_STREAMS];
    int calls[BACKEND_STREAMS];                 /* so far in the recording */
    int seen[BACKEND_STREAMS][BACKEND_STREAMS]; /* calls that a stream has waited for */
};

static int push(struct list *list, const struct item *item, struct error *err) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 256 : 2 * list->capacity;
        struct item *items =
            capacity > ITEMS_MAX ? NULL : realloc(list->items, capacity * sizeof(*list->items));
        if (items == NULL)
            return error_no_memory(err, "emulated streams");
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
            return error_no_memory(err, "emulated events");
        memset(reached + w->capacity, 0, (capacity - w->capacity) * sizeof(*reached));
        w->reached = reached;
        w->capacity = capacity;
    }
    return 0;
}

static void world_done(struct world *w) {
    for (int i = 0; i < BACKEND_STREAMS; i++)
        free(w->streams[i].items);
    free(w->reached);
}

/* --- running ---------------------------------------------------------------------------------- */

static int drain(struct emulated_streams *l, struct world *w, long until, struct error *err);

static int run_recording(struct emulated_streams *l, const struct recording *r, struct error *err) {
    struct world w = {.first = r->first};
    int result = add_serial(&w, r->end, err);
    for (size_t i = 0; result == 0 && i < r->items.count; i++)
        result = push(&w.streams[r->items.items[i].stream], &r->items.items[i], err);
    if (result == 0)
        result = drain(l, &w, NEVER, err);
    world_done(&w);
    return result;
}

static bool can_run(const struct world *w, int stream) {
    const struct list *list = &w->streams[stream];
    if (list->head == list->count)
        return false;
    const struct item *item = &list->items[list->head];
    return item->kind != WAIT || w->reached[item->event - w->first];
}

/* The stream that runs next, or -1. */
static int choose(struct emulated_streams *l, const struct world *w) {
    static const int orders[][BACKEND_STREAMS] = {
        [STREAMS_MAIN_FIRST] = {STREAM_MAIN, STREAM_COPY, STREAM_SIDE},
        [STREAMS_SIDE_FIRST] = {STREAM_COPY, STREAM_SIDE, STREAM_MAIN},
        [STREAMS_MIXED] = {STREAM_MAIN, STREAM_SIDE, STREAM_COPY},
    };
    unsigned start = 0;
    if (l->order == STREAMS_MIXED) {
        l->random = l->random * 6364136223846793005U + 1442695040888963407U;
        start = (unsigned)(l->random >> 33);
    }
    for (unsigned i = 0; i < BACKEND_STREAMS; i++) {
        int stream = orders[l->order][(start + i) % BACKEND_STREAMS];
        if (can_run(w, stream))
            return stream;
    }
    return -1;
}

static int run_item(struct emulated_streams *l, struct world *w, const struct item *item,
                    struct error *err) {
    switch (item->kind) {
    case CALL:
        return item->call.run(l->backend, &item->call, err);
    case EVENT:
        w->reached[item->event - w->first] = true;
        return 0;
    case WAIT:
        return 0;
    case REPLAY:
        return run_recording(l, item->replay, err);
    }
    return -1;
}

/* Runs until event UNTIL is reached, or all streams are empty. */
static int drain(struct emulated_streams *l, struct world *w, long until, struct error *err) {
    while (until < 0 || !w->reached[until - w->first]) {
        int stream = choose(l, w);
        if (stream < 0) {
            bool empty = true;
            for (int i = 0; i < BACKEND_STREAMS; i++)
                empty = empty && w->streams[i].head == w->streams[i].count;
            return empty ? 0 : error_set(err, EXIT_CODE_INTERNAL, "streams wait for each other");
        }
        struct list *list = &w->streams[stream];
        struct item item = list->items[list->head++];
        if (list->head == list->count)
            list->head = list->count = 0;
        if (run_item(l, w, &item, err) != 0)
            return -1;
    }
    return 0;
}

/* --- enqueuing -------------------------------------------------------------------------------- */

static int enqueue(struct emulated_streams *l, struct item *item, struct error *err) {
    item->stream = l->selected;
    if (l->recording == NULL)
        return push(&l->world.streams[l->selected], item, err);
    if (!l->takes_part[l->selected])
        return error_set(err, EXIT_CODE_INTERNAL, "stream %d takes no part in the recording",
                         l->selected);
    return push(&l->recording->items, item, err);
}

int emulated_streams_open(struct emulated_streams **ret, struct backend *backend,
                          enum streams_order order, uint64_t seed, struct error *err) {
    struct emulated_streams *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return error_no_memory(err, "emulated streams");
    l->backend = backend;
    l->order = order;
    l->random = seed;
    for (int i = 0; i < BACKEND_EVENTS; i++)
        l->set[i] = NEVER;
    *ret = l;
    return 0;
}

void emulated_streams_close(struct emulated_streams *l) {
    if (l == NULL)
        return;
    world_done(&l->world);
    free(l);
}

int emulated_streams_add(struct emulated_streams *l, const struct streams_call *call,
                         struct error *err) {
    struct item item = {.kind = CALL, .call = *call};
    l->calls[l->selected]++;
    l->seen[l->selected][l->selected] = l->calls[l->selected];
    return enqueue(l, &item, err);
}

void emulated_streams_select(struct emulated_streams *l, enum backend_stream stream) {
    l->selected = stream;
}

int emulated_streams_event(struct emulated_streams *l, int number, struct error *err) {
    struct item item = {.kind = EVENT, .event = l->next_event++};
    memcpy(item.seen, l->seen[l->selected], sizeof(item.seen));
    l->set[number] = item.event;
    if (l->recording == NULL && add_serial(&l->world, item.event, err) != 0)
        return -1;
    return enqueue(l, &item, err);
}

/* The stream comes to know what the event's stream knew. */
static void learn(struct emulated_streams *l, long event) {
    const struct list *items = &l->recording->items;
    for (size_t i = 0; i < items->count; i++)
        if (items->items[i].kind == EVENT && items->items[i].event == event)
            for (int k = 0; k < BACKEND_STREAMS; k++)
                if (items->items[i].seen[k] > l->seen[l->selected][k])
                    l->seen[l->selected][k] = items->items[i].seen[k];
}

int emulated_streams_wait(struct emulated_streams *l, int number, struct error *err) {
    struct item item = {.kind = WAIT, .event = l->set[number]};
    if (item.event == OUT_OF_REACH)
        return error_set(err, EXIT_CODE_INTERNAL, "event %d was set in a recording", number);
    if (l->recording != NULL) {
        if (item.event < l->recording->first)
            return error_set(err, EXIT_CODE_INTERNAL, "event %d is not of the recording", number);
        l->takes_part[l->selected] = true;
        learn(l, item.event);
    }
    return item.event == NEVER ? 0 : enqueue(l, &item, err);
}

int emulated_streams_reach(struct emulated_streams *l, int number, struct error *err) {
    if (l->recording != NULL || l->set[number] == OUT_OF_REACH)
        return error_set(err, EXIT_CODE_INTERNAL, "waiting for event %d of a recording", number);
    return l->set[number] == NEVER ? 0 : drain(l, &l->world, l->set[number], err);
}

int emulated_streams_sync(struct emulated_streams *l, struct error *err) {
    enum backend_stream before = l->selected;
    struct item item = {.kind = EVENT, .event = l->next_event++};
    if (l->recording != NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "waiting in a recording");
    l->selected = STREAM_MAIN;
    int result = add_serial(&l->world, item.event, err) != 0 || enqueue(l, &item, err) != 0
                     ? -1
                     : drain(l, &l->world, item.event, err);
    l->selected = before;
    return result;
}

/* --- recordings ------------------------------------------------------------------------------- */

int emulated_streams_capture_begin(struct emulated_streams *l, struct error *err) {
    l->recording = calloc(1, sizeof(*l->recording));
    if (l->recording == NULL)
        return error_no_memory(err, "a recording");
    l->recording->first = l->next_event;
    memset(l->takes_part, 0, sizeof(l->takes_part));
    memset(l->calls, 0, sizeof(l->calls));
    memset(l->seen, 0, sizeof(l->seen));
    l->takes_part[STREAM_MAIN] = true;
    return 0;
}

int emulated_streams_capture_end(struct emulated_streams *l, void **ret_recording,
                                 struct error *err) {
    struct recording *r = l->recording;
    l->recording = NULL;
    r->end = l->next_event;
    for (int i = 0; i < BACKEND_EVENTS; i++)
        if (l->set[i] >= r->first)
            l->set[i] = OUT_OF_REACH;
    for (int i = 0; i < BACKEND_STREAMS; i++)
        if (l->seen[STREAM_MAIN][i] < l->calls[i]) {
            emulated_streams_forget(r);
            return error_set(err, EXIT_CODE_INTERNAL, "stream %d was not joined", i);
        }
    *ret_recording = r;
    return 0;
}

int emulated_streams_replay(struct emulated_streams *l, void *recording, struct error *err) {
    struct item item = {.kind = REPLAY, .replay = recording};
    return enqueue(l, &item, err);
}

void emulated_streams_forget(void *recording) {
    struct recording *r = recording;
    free(r->items.items);
    free(r);
}
