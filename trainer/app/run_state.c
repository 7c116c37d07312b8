#include "app/run_state.h"

#include "common/json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A field is a number, or text of RUN_STATE_TEXT bytes. */
struct field {
    const char *key;
    size_t offset;
    bool is_text;
    bool exact; /* has to be the same for a bit-exact resume */
    bool optional;
};

#define NUMBER(name, exact_)                                                                       \
    { #name, offsetof(struct run_state, name), false, exact_, false }
#define TEXT(name, exact_)                                                                         \
    { #name, offsetof(struct run_state, name), true, exact_, false }

static const struct field FIELDS[] = {
    TEXT(model, false),
    NUMBER(classes, false),
    NUMBER(step, false),
    NUMBER(epoch, false),
    NUMBER(images, false),
    NUMBER(global_batch, true),
    NUMBER(ranks, true),
    NUMBER(accumulate, true),
    NUMBER(batch_size, true),
    NUMBER(threads, true),
    NUMBER(seed, true),
    NUMBER(image_size, true),
    TEXT(dtype, true),
    TEXT(fusion, true),
    TEXT(backend, true),
    TEXT(data, true),
    {"run", offsetof(struct run_state, run), true, false, true},
};

enum { FIELD_COUNT = sizeof(FIELDS) / sizeof(FIELDS[0]) };

static const int64_t *number_in(const struct run_state *state, const struct field *f) {
    return (const int64_t *)(const void *)((const char *)state + f->offset);
}

static const char *text_in(const struct run_state *state, const struct field *f) {
    return (const char *)state + f->offset;
}

int run_state_format(struct buf *out, const struct run_state *state, struct error *err) {
    cleanup_json json_t *object = json_object();
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *f = &FIELDS[i];
        json_t *value =
            f->is_text ? json_string(text_in(state, f)) : json_integer(*number_in(state, f));
        if (json_object_set_new(object, f->key, value) != 0)
            return error_no_memory(err, "state of the run");
    }
    size_t size = json_dumpb(object, NULL, 0, JSON_COMPACT);
    if (buf_reserve(out, size, err) != 0)
        return -1;
    out->size += json_dumpb(object, out->data + out->size, size, JSON_COMPACT);
    out->data[out->size] = '\0';
    return 0;
}

static int parse_field(struct run_state *ret, const json_t *object, const struct field *f,
                       const char *source, struct error *err) {
    char *place = (char *)ret + f->offset;
    const char *text = NULL;
    int64_t number = -1;
    if (f->is_text) {
        if (json_member_string(object, source, f->key, &text, err) != 0)
            return -1;
        if (text == NULL && f->optional)
            return 0;
        if (text == NULL || strlen(text) >= RUN_STATE_TEXT)
            return error_set(err, EXIT_CODE_DATA, "%s: %s: missing or too long", source, f->key);
        memcpy(place, text, strlen(text) + 1);
        return 0;
    }
    if (json_member_int(object, source, f->key, &number, err) != 0)
        return -1;
    if (number < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: %s: missing or negative", source, f->key);
    memcpy(place, &number, sizeof(number));
    return 0;
}

int run_state_parse(struct run_state *ret, const char *text, const char *source,
                    struct error *err) {
    cleanup_json json_t *object = NULL;
    *ret = (struct run_state){0};
    int result = json_parse(text, strlen(text), source, &object, err);
    for (size_t i = 0; result == 0 && i < FIELD_COUNT; i++)
        result = parse_field(ret, object, &FIELDS[i], source, err);
    if (result != 0 && err != NULL)
        err->code = EXIT_CODE_DATA;
    return result;
}

static int add_difference(struct buf *out, const struct run_state *now,
                          const struct run_state *before, const struct field *f,
                          struct error *err) {
    const char *comma = out->size > 0 ? ", " : "";
    if (f->is_text) {
        const char *a = text_in(now, f);
        const char *b = text_in(before, f);
        return strcmp(a, b) == 0 ? 0
                                 : buf_printf(out, err, "%s%s %s (was %s)", comma, f->key, a, b);
    }
    int64_t a = *number_in(now, f);
    int64_t b = *number_in(before, f);
    return a == b ? 0
                  : buf_printf(out, err, "%s%s %" PRId64 " (was %" PRId64 ")", comma, f->key, a, b);
}

int run_state_differences(struct buf *out, const struct run_state *now,
                          const struct run_state *before, struct error *err) {
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (FIELDS[i].exact && add_difference(out, now, before, &FIELDS[i], err) != 0)
            return -1;
    return 0;
}
