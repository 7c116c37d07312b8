/* Lookup of a row by its name in a table.
 *
 *     static const struct command commands[] = {{"train", run_train}, {"check", run_check}};
 *     const struct command *command = TABLE_FIND(commands, name, word);
 *
 * Names are compared whole; the first row that has the name counts, and a row without one (NULL)
 * never does. MEMBER is a `const char *` of the rows: another type does not compile. */
#ifndef COMMON_TABLE_H
#define COMMON_TABLE_H

#include <stddef.h>

/* The number of rows of TABLE, an array. */
#define TABLE_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The row of TABLE, an array, that has NAME; NULL: none. */
#define TABLE_FIND(table, member, name) TABLE_FIND_IN(table, TABLE_COUNT(table), member, name)

/* The same for COUNT rows that a pointer leads to. */
#define TABLE_FIND_IN(rows, count, member, name)                                                   \
    table_find((rows), (count), sizeof(*(rows)), TABLE_STRING_AT(rows, member), (name))

/* The offset of a row's MEMBER, which is a string. */
#define TABLE_STRING_AT(rows, member)                                                              \
    _Generic((rows)->member, const char * : offsetof(__typeof__(*(rows)), member))

/* The index of WORD in WORDS, an array of strings; TABLE_COUNT(words): it is not there. */
#define TABLE_INDEX(words, word) table_index((words), TABLE_COUNT(words), (word))

const void *table_find(const void *rows, size_t count, size_t size, size_t offset,
                       const char *name);
size_t table_index(const char *const *words, size_t count, const char *word);

#endif
