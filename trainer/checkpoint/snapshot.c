#include "trainer/checkpoint/snapshot.h"

#include <stdlib.h>
#include <string.h>

/* Arrays begin at multiples of this. */
enum { ALIGNMENT = 64 };

static size_t aligned_bytes(const struct array *array) {
    return ((size_t)array_bytes(array) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t snapshot_bytes(const struct array *arrays, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += aligned_bytes(&arrays[i]);
    return bytes;
}

void snapshot_done(struct snapshot *s) {
    free(s->arrays);
    free(s->names);
    free(s->memory);
    *s = (struct snapshot){0};
}

static int make_room(struct snapshot *s, size_t bytes, size_t count, struct error *err) {
    free(s->arrays);
    free(s->names);
    s->arrays = calloc(count + 1, sizeof(*s->arrays));
    s->names = calloc(count + 1, ARRAY_NAME_MAX + 1);
    s->count = 0;
    if (bytes > s->room) {
        free(s->memory);
        s->memory = aligned_alloc(ALIGNMENT, bytes);
        s->room = s->memory != NULL ? bytes : 0;
    }
    if (s->arrays != NULL && s->names != NULL && (s->memory != NULL || bytes == 0))
        return 0;
    snapshot_done(s);
    return error_no_memory(err, "a copy of the weights");
}

int snapshot_take(struct snapshot *s, const struct array *arrays, size_t count, struct error *err) {
    if (make_room(s, snapshot_bytes(arrays, count), count, err) != 0)
        return -1;
    char *to = s->memory;
    for (size_t i = 0; i < count; i++) {
        char *name = s->names + i * (ARRAY_NAME_MAX + 1);
        (void)strncpy(name, arrays[i].name, ARRAY_NAME_MAX);
        s->arrays[i] = arrays[i];
        s->arrays[i].name = name;
        s->arrays[i].data = to;
        to += aligned_bytes(&arrays[i]);
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < count; i++)
        memcpy(s->arrays[i].data, arrays[i].data, (size_t)array_bytes(&arrays[i]));
    s->count = count;
    return 0;
}
