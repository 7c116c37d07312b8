#include "trainer/data/format/name_table.h"

#include "common/grow.h"
#include "common/str.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

void name_table_done(struct name_table *table) {
    for (size_t i = 0; i < table->count; i++)
        free(table->names[i]);
    free(table->names);
    free(table->slots);
    *table = (struct name_table){0};
}

/* Returns the slot of a name, or the empty one where it belongs. There always is an empty one. */
static uint32_t *slot_of(const struct name_table *t, const char *name, size_t size) {
    size_t at = (size_t)str_hash(STR_HASH_START, name, size) & (t->slot_count - 1);
    while (t->slots[at] != 0) {
        const char *other = t->names[t->slots[at] - 1];
        if (strlen(other) == size && memcmp(other, name, size) == 0)
            break;
        at = (at + 1) & (t->slot_count - 1);
    }
    return &t->slots[at];
}

/* Doubles the slots, at most half of which are in use. */
static int grow_slots(struct name_table *t, struct error *err) {
    struct name_table more = *t;
    more.slot_count = t->slot_count == 0 ? FIRST_SLOTS : t->slot_count * 2;
    more.slots = calloc(more.slot_count, sizeof(*more.slots));
    if (more.slots == NULL)
        return error_no_memory(err, "names of classes");
    for (size_t i = 0; i < more.count; i++)
        *slot_of(&more, more.names[i], strlen(more.names[i])) = (uint32_t)(i + 1);
    free(t->slots);
    *t = more;
    return 0;
}

int name_table_number(struct name_table *table, const char *name, size_t size, int32_t *ret,
                      struct error *err) {
    if (table->count >= table->slot_count / 2 && grow_slots(table, err) != 0)
        return -1;
    uint32_t *slot = slot_of(table, name, size);
    if (*slot == 0) {
        if (table->count == NAME_TABLE_MAX)
            return error_set(err, EXIT_CODE_DATA, "more than %d classes", NAME_TABLE_MAX);
        if (grow_array(&table->names, &table->capacity, table->count + 1, sizeof(*table->names),
                       "names of classes", err) != 0)
            return -1;
        char *copy = strndup(name, size);
        if (copy == NULL)
            return error_no_memory(err, "names of classes");
        table->names[table->count++] = copy;
        *slot = (uint32_t)table->count;
    }
    *ret = (int32_t)(*slot - 1);
    return 0;
}
