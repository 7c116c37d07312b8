/* Did-you-mean suggestion for names: the known name that is nearest to a mistyped one.
 *
 *     struct nearest n = nearest_begin(text, strlen(text));
 *     for (...)
 *         nearest_try(&n, names[i]);
 *     if (n.name != NULL) ... "did you mean %s?"
 *
 * A name is near if its Levenshtein distance is at most half the length of the text, and nearest of
 * all if it begins with the text. '-' and '_' are equal, and case does not matter. */
#ifndef COMMON_TEXT_NEAREST_H
#define COMMON_TEXT_NEAREST_H

#include <stddef.h>

enum { NEAREST_SIZE_MAX = 64 }; /* longer names have no near ones */

struct nearest {
    const char *text; /* SIZE bytes, borrowed */
    size_t size;
    const char *name; /* the nearest so far; NULL if none is near */
    size_t distance;
};

struct nearest nearest_begin(const char *text, size_t size);
/* Considers NAME, which must outlive N. Among equally near names the shorter one wins, then the
 * first. */
void nearest_try(struct nearest *n, const char *name);

enum { NEAREST_WORDS_MAX = NEAREST_SIZE_MAX + 32 };

/* Writes "; did you mean NAME?" to TEXT, to be appended to a message; "" if no name is near. */
const char *nearest_words(const struct nearest *n, char text[NEAREST_WORDS_MAX]);

#endif
