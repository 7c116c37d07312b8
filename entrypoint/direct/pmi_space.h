/* Key-value space of PMI-1: pairs of texts that the ranks of an attempt share.
 *
 * Keys and values are printable ASCII without blanks in keys, within the limits that PMI's clients
 * get from get_maxes. */
#ifndef ENTRYPOINT_DIRECT_PMI_SPACE_H
#define ENTRYPOINT_DIRECT_PMI_SPACE_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    PMI_KEY_MAX = 64,
    PMI_VALUE_MAX = 1024,
    PMI_SPACE_PAIRS_MAX = 256 * 1024,
    PMI_SPACE_BYTES_MAX = 4 * 1024 * 1024, /* of keys and values; half of what a link queues */
};

struct pmi_pair {
    char *key; /* owned, and the value behind its NUL */
    const char *value;
};

struct pmi_space {
    struct pmi_pair *pairs; /* owned; sorted by key */
    size_t count;
    size_t capacity;
    size_t bytes;
};

void pmi_space_done(struct pmi_space *s);
/* Adds a pair, or gives KEY another value. */
int pmi_space_put(struct pmi_space *s, const char *key, const char *value, struct error *err);
/* The value of KEY, valid until the next change; NULL if there is none. */
const char *pmi_space_get(const struct pmi_space *s, const char *key);

/* Returns the pairs from number *NEXT on, as many as fit into a frame, as [[key, value], ...] and
 * moves *NEXT past them; NULL after the last, or out of memory. */
json_t *pmi_space_json(const struct pmi_space *s, size_t *next);
/* Adds all pairs of such an array. */
int pmi_space_take(struct pmi_space *s, const json_t *pairs, struct error *err);

#endif
