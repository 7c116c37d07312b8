#include "entrypoint/evidence/odd_wait.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 16 };

/* Names of waits, each once. They lie in the text that was read. */
struct places {
    const char *name[PLACES_MAX];
    size_t size[PLACES_MAX];
    size_t count;
};

static bool has(const struct places *p, const char *name, size_t size) {
    for (size_t i = 0; i < p->count; i++)
        if (p->size[i] == size && memcmp(p->name[i], name, size) == 0)
            return true;
    return false;
}

/* Reads "pid 13 python3: 4 S futex_do_wait (202), 1 R; pid 14 sh: 1 S do_wait": every word that
 * stands after a number of threads and their state. */
static void read_places(const char *text, struct places *ret) {
    *ret = (struct places){0};
    for (const char *at = text; *at != '\0'; at++) {
        if ((*at != ':' && *at != ',') || at[1] != ' ' || !isdigit((unsigned char)at[2]))
            continue;
        const char *word = at + 2;
        word += strspn(word, "0123456789");
        if (word[0] != ' ' || !isalpha((unsigned char)word[1]) || word[2] != ' ')
            continue;
        word += 3;
        size_t size = strcspn(word, " ,;");
        if (size > 0 && word[0] != '(' && ret->count < PLACES_MAX && !has(ret, word, size)) {
            ret->name[ret->count] = word;
            ret->size[ret->count++] = size;
        }
    }
}

static bool is_same(const struct places *a, const struct places *b) {
    for (size_t i = 0; i < a->count; i++)
        if (!has(b, a->name[i], a->size[i]))
            return false;
    return a->count == b->count;
}

/* Looks for ranks with waits that differ from COMMON's. Returns their number, or 2 if an unknown
 * one is among them; in *RET the first. */
static size_t count_odd(const char *const *states, const bool *ended, size_t count,
                        const struct places *common, int64_t *ret) {
    size_t odd = 0;
    for (size_t i = 0; i < count && odd < 2; i++) {
        struct places here;
        if (ended[i])
            continue;
        read_places(states[i] != NULL ? states[i] : "", &here);
        if (here.count == 0)
            return 2;
        if (is_same(&here, common))
            continue;
        if (odd++ == 0)
            *ret = (int64_t)i;
    }
    return odd;
}

/* Tries the first two ranks: one of them is not the odd one, and shows where all others wait. */
int64_t odd_wait(const char *const *states, const bool *ended, size_t count, int64_t *ret_other) {
    size_t tried = 0;
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += ended[i] ? 0 : 1;
    for (size_t i = 0; i < count && left > 2 && tried < 2; i++) {
        struct places common;
        int64_t odd = -1;
        if (ended[i])
            continue;
        tried++;
        read_places(states[i] != NULL ? states[i] : "", &common);
        if (count_odd(states, ended, count, &common, &odd) == 1) {
            *ret_other = (int64_t)i;
            return odd;
        }
    }
    return -1;
}
