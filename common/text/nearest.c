#include "common/text/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { BEGINNING_LEAST = 3 }; /* shortest prefix that counts as an abbreviation of a name */

static char plain(char c) {
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Levenshtein distance, computed one row at a time because names are short. */
static size_t distance(const char *name, size_t length, const char *text, size_t size) {
    size_t row[NEAREST_SIZE_MAX + 1];
    for (size_t j = 0; j <= size; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= size; j++) {
            size_t replaced = diagonal + (plain(name[i - 1]) != plain(text[j - 1]));
            diagonal = row[j];
            row[j] = smaller(replaced, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[size];
}

static bool begins(const char *name, size_t length, const char *text, size_t size) {
    if (size < BEGINNING_LEAST || size > length)
        return false;
    for (size_t i = 0; i < size; i++)
        if (plain(name[i]) != plain(text[i]))
            return false;
    return true;
}

struct nearest nearest_begin(const char *text, size_t size) {
    return (struct nearest){.text = text, .size = size};
}

void nearest_try(struct nearest *n, const char *name) {
    size_t length = strlen(name);
    if (n->size == 0 || n->size > NEAREST_SIZE_MAX || length > NEAREST_SIZE_MAX)
        return;
    bool beginning = begins(name, length, n->text, n->size);
    size_t d = beginning ? 0 : distance(name, length, n->text, n->size);
    if (!beginning && d > n->size / 2)
        return;
    bool shorter = n->name != NULL && d == n->distance && length < strlen(n->name);
    if (n->name != NULL && d >= n->distance && !shorter)
        return;
    n->name = name;
    n->distance = d;
}

const char *nearest_words(const struct nearest *n, char text[NEAREST_WORDS_MAX]) {
    text[0] = '\0';
    if (n->name != NULL)
        (void)snprintf(text, NEAREST_WORDS_MAX, "; did you mean %s?", n->name);
    return text;
}
