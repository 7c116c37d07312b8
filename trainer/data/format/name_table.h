/* Distinct names, numbered in the order in which they were first seen. */
#ifndef TRAINER_DATA_FORMAT_NAME_TABLE_H
#define TRAINER_DATA_FORMAT_NAME_TABLE_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { NAME_TABLE_MAX = 65536 }; /* names */

/* Zeroed, it is empty. */
struct name_table {
    char **names; /* owned; [count] */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* owned; open addressing: number of a name + 1; 0: empty */
    size_t slot_count;
};

void name_table_done(struct name_table *table);

/* Sets *RET to the number of the name of SIZE bytes, which is added if it is new. Fails with
 * EXIT_CODE_DATA above the maximum. */
int name_table_number(struct name_table *table, const char *name, size_t size, int32_t *ret,
                      struct error *err);

#define cleanup_name_table __attribute__((cleanup(name_table_done)))

#endif
