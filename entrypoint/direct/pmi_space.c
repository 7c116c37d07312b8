#include "entrypoint/direct/pmi_space.h"

#include "common/grow.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of keys and values for one frame of 64 KiB: JSON escapes of printable ASCII at most double
 * them, and each pair has seven bytes around it. */
enum { FRAME_PAIRS_BYTES = 24 * 1024, PAIR_EXTRA = 8 };

void pmi_space_done(struct pmi_space *s) {
    for (size_t i = 0; i < s->count; i++)
        free(s->pairs[i].key);
    free(s->pairs);
    *s = (struct pmi_space){0};
}

/* Finds KEY, or where it would be: *RET_INDEX. */
static bool find(const struct pmi_space *s, const char *key, size_t *ret_index) {
    size_t low = 0;
    size_t high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(s->pairs[middle].key, key);
        if (order == 0) {
            *ret_index = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_index = low;
    return false;
}

static bool is_text(const char *text, char first, size_t max) {
    size_t size = 0;
    for (; text[size] != '\0' && size <= max; size++)
        if (text[size] < first || text[size] > '~')
            return false;
    return size <= max;
}

static int check(const struct pmi_space *s, const char *key, const char *value, struct error *err) {
    if (key[0] == '\0' || !is_text(key, '!', PMI_KEY_MAX) || !is_text(value, ' ', PMI_VALUE_MAX))
        return error_set(err, EXIT_CODE_DATA,
                         "PMI: a key has 1 to %d printable bytes without blanks, its value at "
                         "most %d",
                         PMI_KEY_MAX, PMI_VALUE_MAX);
    if (s->count >= PMI_SPACE_PAIRS_MAX ||
        s->bytes + strlen(key) + strlen(value) > PMI_SPACE_BYTES_MAX)
        return error_set(err, EXIT_CODE_DATA, "PMI: more than %d bytes or %d keys of all ranks",
                         PMI_SPACE_BYTES_MAX, PMI_SPACE_PAIRS_MAX);
    return 0;
}

static int make_pair(const char *key, const char *value, struct pmi_pair *ret, struct error *err) {
    size_t front = strlen(key) + 1;
    size_t size = strlen(value) + 1;
    ret->key = malloc(front + size);
    if (ret->key == NULL)
        return error_no_memory(err, "a key of PMI");
    memcpy(ret->key, key, front);
    memcpy(ret->key + front, value, size);
    ret->value = ret->key + front;
    return 0;
}

int pmi_space_put(struct pmi_space *s, const char *key, const char *value, struct error *err) {
    struct pmi_pair pair;
    size_t at = 0;
    if (check(s, key, value, err) != 0 ||
        grow_array(&s->pairs, &s->capacity, s->count + 1, sizeof(s->pairs[0]), "keys of PMI",
                   err) != 0 ||
        make_pair(key, value, &pair, err) != 0)
        return -1;
    s->bytes += strlen(key) + strlen(value);
    if (find(s, key, &at)) {
        s->bytes -= strlen(key) + strlen(s->pairs[at].value);
        free(s->pairs[at].key);
    } else {
        memmove(s->pairs + at + 1, s->pairs + at, (s->count - at) * sizeof(s->pairs[0]));
        s->count++;
    }
    s->pairs[at] = pair;
    return 0;
}

const char *pmi_space_get(const struct pmi_space *s, const char *key) {
    size_t at = 0;
    return find(s, key, &at) ? s->pairs[at].value : NULL;
}

json_t *pmi_space_json(const struct pmi_space *s, size_t *next) {
    size_t bytes = 0;
    json_t *list = *next < s->count ? json_array() : NULL;
    for (; list != NULL && *next < s->count; (*next)++) {
        const struct pmi_pair *p = &s->pairs[*next];
        bytes += strlen(p->key) + strlen(p->value) + PAIR_EXTRA;
        if (bytes > FRAME_PAIRS_BYTES)
            break;
        if (json_array_append_new(list, json_pack("[s, s]", p->key, p->value)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

int pmi_space_take(struct pmi_space *s, const json_t *pairs, struct error *err) {
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        const char *key = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        if (key == NULL || value == NULL)
            return error_set(err, EXIT_CODE_DATA, "PMI: pairs are lists of two texts");
        if (pmi_space_put(s, key, value, err) != 0)
            return -1;
    }
    return 0;
}
