/* Memory that runs out at a chosen allocation: what is tested has to end with an error or with the
 * right answer, whichever one it is. For programs linked with --wrap=malloc, calloc, realloc,
 * aligned_alloc, strdup, strndup and vasprintf (tests/room.cmake).
 *
 * Jansson's own allocations fail only where JSON is made. Its reader (2.14) does not look whether
 * the buffer of a word could grow: the word is then another one, or an assertion of its own ends
 * the program, and nothing here can mend that. */
#ifndef TESTS_SUPPORT_NO_MEMORY_H
#define TESTS_SUPPORT_NO_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* From here on allocation number N, from 1, fails; with FOR_GOOD all later ones as well. */
void no_memory_begin(size_t n, bool for_good);
/* Whether Jansson's count: between the two above. */
void no_memory_of_json(bool counts);
/* From here on none fails. Whether one has. */
bool no_memory_end(void);

#endif
