#include "trainer/app/run/run_state.h"

#include "common/json/json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of a run as one table, FIELDS, from which the JSON is written, read and compared. A new
 * field needs a member in run_state.h and a row here, with LATER so that older checkpoints still
 * load.
 *
 * save.c formats the state into each checkpoint, and resume.c parses what it finds there. A
 * checkpoint may come from another version of this program or from another machine, so a parsed
 * state is checked before any of its numbers is used as a divisor.
 *
 * Members of the JSON that have no row are ignored, except the class names, which are a list and
 * are handled apart. */

enum {
    COMPARED = 1, /* for a bit-exact resume: of the kind of the option of this name (options.h) */
    LATER = 2,    /* absent in format version 1, or in version 2 of earlier programs */
};

/* A field is a number, or text. Its place in the structure is an offset, so that one loop serves
 * all fields. */
struct field {
    const char *key;
    size_t offset;
    size_t text; /* bytes of a text; 0: a number */
    unsigned flags;
};

/* The key in the file is the name of the member, so a member cannot be renamed without a new row
 * that keeps the old key, as that of `lineage` does. */
#define NUMBER(name, flags_)                                                                       \
    { #name, offsetof(struct run_state, name), 0, flags_ }
#define TEXT(name, flags_)                                                                         \
    { #name, offsetof(struct run_state, name), sizeof(((struct run_state *)0)->name), flags_ }

/* The order is that of the members in the file. Comparisons go through the rows in the same order,
 * so it is also the order of the differences in a message. */
static const struct field FIELDS[] = {
    TEXT(model, 0),
    NUMBER(classes, 0),
    NUMBER(step, 0),
    NUMBER(epoch, 0),
    NUMBER(images, 0),
    NUMBER(global_batch, COMPARED),
    {"course", offsetof(struct run_state, lineage), 0, LATER},
    NUMBER(samples, LATER),
    TEXT(loss_scale, LATER),
    NUMBER(good_steps, LATER),
    NUMBER(updates, LATER),
    NUMBER(batches, LATER),
    NUMBER(epoch_images, LATER),
    NUMBER(ranks, COMPARED),
    NUMBER(accumulate, COMPARED),
    NUMBER(batch_size, COMPARED),
    NUMBER(threads, COMPARED),
    NUMBER(seed, COMPARED),
    NUMBER(image_size, COMPARED),
    NUMBER(total_steps, COMPARED | LATER),
    TEXT(dtype, COMPARED),
    TEXT(fusion, COMPARED),
    TEXT(backend, COMPARED),
    TEXT(data, 0), /* compared by its name */
    TEXT(data_name, LATER),
    NUMBER(data_images, LATER),
    TEXT(program, COMPARED | LATER),
    TEXT(options, LATER), /* compared option by option */
    TEXT(run, LATER),
    TEXT(init, LATER), /* compared if nothing is left to train */
};

enum { FIELD_COUNT = sizeof(FIELDS) / sizeof(FIELDS[0]) };

#define CLASS_NAMES "class_names"

/* Limit of steps and epochs; the loader counts epochs in 32 bits. */
enum { RUN_STATE_MAX = 999999999 };

/* All numbers of the structure are int64_t, so an offset is enough to read one. */
static const int64_t *number_in(const struct run_state *state, const struct field *f) {
    return (const int64_t *)(const void *)((const char *)state + f->offset);
}

static const char *text_in(const struct run_state *state, const struct field *f) {
    return (const char *)state + f->offset;
}

/* JSON text must be UTF-8, but a path may hold any bytes. */
static json_t *text_json(const char *text) {
    json_t *value = json_string(text);
    return value != NULL ? value : json_string("(not UTF-8)");
}

/* Adds the names of the classes, which are checked on resuming because weights know classes by
 * number alone. A list that would make the header of a checkpoint too large is left out as a whole:
 * a part of it would look like another set of classes. */
static int add_classes(json_t *object, const struct run_state *state, char *const *class_names,
                       struct error *err) {
    size_t bytes = 0;
    json_t *names = json_array();
    for (int64_t c = 0; c < state->classes; c++) {
        bytes += strlen(class_names[c]) + 1;
        (void)json_array_append_new(names, text_json(class_names[c]));
    }
    if (bytes > RUN_STATE_CLASSES) {
        json_decref(names);
        return 0;
    }
    if (json_object_set_new(object, CLASS_NAMES, names) != 0)
        return error_no_memory(err, "state of the run");
    return 0;
}

/* The text is measured first, so that the buffer grows once and a limit that is too small is an
 * error before anything is written. */
int run_state_format(struct buf *out, const struct run_state *state, char *const *class_names,
                     struct error *err) {
    cleanup_json json_t *object = json_object();
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *f = &FIELDS[i];
        json_t *value =
            f->text > 0 ? text_json(text_in(state, f)) : json_integer(*number_in(state, f));
        if (json_object_set_new(object, f->key, value) != 0)
            return error_no_memory(err, "state of the run");
    }
    if (add_classes(object, state, class_names, err) != 0)
        return -1;
    size_t size = json_dumpb(object, NULL, 0, JSON_COMPACT);
    if (buf_reserve(out, size, err) != 0)
        return -1;
    out->size += json_dumpb(object, out->data + out->size, size, JSON_COMPACT);
    out->data[out->size] = '\0';
    return 0;
}

/* Reads one field into RET. A field that is absent keeps its 0 or "" if it is LATER; any other
 * absent field is an error, and so are negative numbers, which no field can have. */
static int parse_field(struct run_state *ret, const json_t *object, const struct field *f,
                       const char *source, struct error *err) {
    char *place = (char *)ret + f->offset;
    const char *text = NULL;
    int64_t number = -1;
    bool absent = json_object_get(object, f->key) == NULL;
    if (absent && (f->flags & LATER) != 0)
        return 0;
    if (f->text > 0) {
        if (json_member_string(object, source, f->key, &text, err) != 0)
            return -1;
        /* A text that is too long is refused and not cut: a shortened hash or list of options would
         * compare as different, or worse, as equal. */
        if (text == NULL || strlen(text) >= f->text)
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

/* Checks that the numbers agree with each other, so that later divisions by global_batch are exact
 * and positions lie within their epoch. The products are computed with overflow checks, as a
 * damaged file may hold any number. */
static int check(const struct run_state *s, const char *source, struct error *err) {
    int64_t product = 0;
    bool fits = !__builtin_mul_overflow(s->ranks, s->batch_size, &product) &&
                !__builtin_mul_overflow(product, s->accumulate, &product);
    if (s->global_batch < 1 || !fits || product != s->global_batch)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: global_batch %" PRId64 " is not ranks %" PRId64
                         " times batch_size %" PRId64 " times accumulate %" PRId64,
                         source, s->global_batch, s->ranks, s->batch_size, s->accumulate);
    /* Checkpoints are taken between steps only, so the position is a whole number of steps. */
    if (s->images % s->global_batch != 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: images %" PRId64 " is no number of steps of %" PRId64, source,
                         s->images, s->global_batch);
    if (s->epoch_images > 0 && s->images >= s->epoch_images)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: images %" PRId64 " of an epoch of %" PRId64 " (epoch_images)", source,
                         s->images, s->epoch_images);
    if (s->step > RUN_STATE_MAX || s->epoch > RUN_STATE_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: step %" PRId64 " or epoch %" PRId64 " is impossible", source, s->step,
                         s->epoch);
    return 0;
}

/* Fills in what format version 1 lacks: it had one lineage, and all its steps had one size. */
static int complete(struct run_state *s, const json_t *object, const char *source,
                    struct error *err) {
    if ((json_object_get(object, "samples") == NULL &&
         __builtin_mul_overflow(s->step, s->global_batch, &s->samples)) ||
        (json_object_get(object, "batches") == NULL &&
         __builtin_mul_overflow(s->step, s->accumulate, &s->batches)))
        return error_set(err, EXIT_CODE_DATA, "%s: step %" PRId64 " is impossible", source,
                         s->step);
    return 0;
}

/* All errors of the text become EXIT_CODE_DATA: the file is at fault, whatever the JSON reader
 * calls it. ERR may be NULL for a caller that only asks whether a state can be read. */
int run_state_parse(struct run_state *ret, const char *text, const char *source,
                    struct error *err) {
    cleanup_json json_t *object = NULL;
    *ret = (struct run_state){0};
    int result = json_parse(text, strlen(text), source, &object, err);
    for (size_t i = 0; result == 0 && i < FIELD_COUNT; i++)
        result = parse_field(ret, object, &FIELDS[i], source, err);
    if (result == 0 && (check(ret, source, err) != 0 || complete(ret, object, source, err) != 0))
        result = -1;
    if (result != 0)
        (void)error_recode(err, EXIT_CODE_DATA);
    return result;
}

/* Separates a difference from the one before it in OUT. */
static const char *comma(const struct buf *out) {
    return out->size > 0 ? ", " : "";
}

/* Appends the difference in field F, if there is one. A value that BEFORE lacks because its program
 * did not record it yet is no difference. */
static int add_difference(struct buf *out, const struct run_state *now,
                          const struct run_state *before, const struct field *f,
                          struct error *err) {
    bool later = (f->flags & LATER) != 0;
    if (f->text > 0) {
        const char *a = text_in(now, f);
        const char *b = text_in(before, f);
        return strcmp(a, b) == 0 || (later && b[0] == '\0')
                   ? 0
                   : buf_printf(out, err, "%s%s %s (was %s)", comma(out), f->key, a, b);
    }
    int64_t a = *number_in(now, f);
    int64_t b = *number_in(before, f);
    return a == b || (later && b == 0) ? 0
                                       : buf_printf(out, err, "%s%s %" PRId64 " (was %" PRId64 ")",
                                                    comma(out), f->key, a, b);
}

/* Returns the value of the option named by NAME_SIZE bytes at NAME, in a text like "lr=0.1
 * momentum=0.9", or NULL. */
static const char *option_value(const char *options, const char *name, size_t name_size) {
    for (const char *word = options; *word != '\0';) {
        /* The '=' is compared as well: "lr" is also the beginning of "lr-end". */
        if (strncmp(word, name, name_size) == 0 && word[name_size] == '=')
            return word + name_size + 1;
        word += strcspn(word, " ");
        word += strspn(word, " ");
    }
    return NULL;
}

const char *run_state_option(const struct run_state *state, const char *name, int *ret_size) {
    const char *value = option_value(state->options, name, strlen(name));
    *ret_size = value != NULL ? (int)strcspn(value, " ") : 0;
    return value;
}

/* Appends the options of KINDS that differ. Only options which both states recorded are compared:
 * one that an earlier version did not have, or a later one dropped, says nothing about the run. */
static int add_options(struct buf *out, const char *now, const char *before, unsigned kinds,
                       struct error *err) {
    for (const char *word = before; *word != '\0';) {
        size_t name = strcspn(word, "= ");
        size_t size = strcspn(word, " ");
        const char *a = option_value(now, word, name);
        const char *b = word + name + 1;
        int b_size = (int)(size - name - 1);
        bool same = a == NULL || name >= size ||
                    (strcspn(a, " ") == (size_t)b_size && strncmp(a, b, (size_t)b_size) == 0);
        if (!same && (options_kind(word, name) & kinds) != 0 &&
            buf_printf(out, err, "%s%.*s %.*s (was %.*s)", comma(out), (int)name, word,
                       (int)strcspn(a, " "), a, b_size, b) != 0)
            return -1;
        word += size;
        word += strspn(word, " ");
    }
    return 0;
}

/* Different names are no difference if the hashes agree: the same files may lie elsewhere. The
 * number of images is compared as well, because a folder often keeps its name while files come and
 * go. */
static int add_data(struct buf *out, const struct run_state *now, const struct run_state *before,
                    struct error *err) {
    if (strcmp(now->data, before->data) == 0)
        return 0;
    /* A state of format version 1 has only the hash. */
    if (before->data_name[0] == '\0')
        return buf_printf(out, err, "%sdata %s (was a set with the hash %s)", comma(out),
                          now->data_name, before->data);
    return buf_printf(out, err, "%sdata %s of %" PRId64 " images (was %s of %" PRId64 " images)",
                      comma(out), now->data_name, now->data_images, before->data_name,
                      before->data_images);
}

/* That of the option which the member holds; of one that holds none: of the machine. Members use
 * underscores where options have hyphens. */
static enum setting_kind kind_of(const struct field *f) {
    char name[RUN_STATE_TEXT];
    size_t size = (size_t)snprintf(name, sizeof(name), "%s", f->key);
    for (char *c = name; *c != '\0'; c++)
        *c = (char)(*c == '_' ? '-' : *c);
    return options_kind(name, size);
}

int run_state_differences(struct buf *out, const struct run_state *now,
                          const struct run_state *before, unsigned kinds, struct error *err) {
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if ((FIELDS[i].flags & COMPARED) != 0 && (kind_of(&FIELDS[i]) & kinds) != 0 &&
            add_difference(out, now, before, &FIELDS[i], err) != 0)
            return -1;
    if (add_options(out, now->options, before->options, kinds, err) != 0)
        return -1;
    return (kinds & SETTING_WAY) != 0 ? add_data(out, now, before, err) : 0;
}

/* A list with an element that is no text is read with "" in its place, which then differs from any
 * class of the data. On failure RET_NAMES stays NULL, and copies made so far are freed. */
int run_state_classes(const char *text, char ***ret_names, size_t *ret_count, struct error *err) {
    cleanup_json json_t *object = NULL;
    *ret_names = NULL;
    *ret_count = 0;
    if (json_parse(text, strlen(text), "state", &object, err) != 0)
        return -1;
    const json_t *names = json_object_get(object, CLASS_NAMES);
    const size_t count = json_array_size(names);
    if (count == 0)
        return 0;
    char **copies = calloc(count, sizeof(*copies));
    if (copies == NULL)
        return error_no_memory(err, "class names");
    for (size_t c = 0; c < count; c++) {
        const char *name = json_string_value(json_array_get(names, c));
        copies[c] = strdup(name != NULL ? name : "");
        if (copies[c] == NULL) {
            run_state_free_classes(copies, c);
            return error_no_memory(err, "class names");
        }
    }
    *ret_names = copies;
    *ret_count = count;
    return 0;
}

void run_state_free_classes(char **names, size_t count) {
    for (size_t c = 0; c < count; c++)
        free(names[c]);
    free(names);
}

/* sampler_check has refused a run without a step in an epoch, so epoch_steps is at least 1. An
 * epoch of BEFORE that was longer than NOW's may put the position past the end of NOW's; whole
 * epochs are then carried over. */
void run_state_go_on(struct run_state *now, const struct run_state *before) {
    int64_t epoch_steps = now->epoch_images / now->global_batch;
    /* The rest of this division is dropped: those images come once more. The other way round,
     * images would be left out of the epoch. */
    int64_t in_epoch = before->images / now->global_batch;
    bool same_data = strcmp(now->data, before->data) == 0;
    if (!same_data && before->epoch_images > 0)
        in_epoch =
            (int64_t)((double)before->images / (double)before->epoch_images * (double)epoch_steps);
    now->epoch = before->epoch + in_epoch / epoch_steps;
    in_epoch %= epoch_steps;
    now->images = in_epoch * now->global_batch;
    /* The step follows from the position and not from BEFORE, so that the schedule of the learning
     * rate fits the epochs even if the images a step have changed. */
    now->step = now->epoch * epoch_steps + in_epoch;
    now->lineage = before->lineage;
    now->samples = before->samples;
    memcpy(now->loss_scale, before->loss_scale, sizeof(now->loss_scale));
    now->good_steps = before->good_steps;
    now->updates = before->updates;
    now->batches = before->batches;
    /* A resumed run needs no --init: its weights still come from the file it began with. */
    if (strcmp(now->init, "none") == 0 && before->init[0] != '\0')
        memcpy(now->init, before->init, sizeof(now->init));
}
