/* Compares the tensors of two safetensors files of the same run, name by name.
 *
 *     weights_compare A B exact PREFIX [EXCEPT]...   all bits equal
 *     weights_compare A B LIMIT PREFIX [EXCEPT]...   largest difference over largest value <= LIMIT
 *
 * for each tensor with a name that begins with PREFIX and contains none of the words EXCEPT.
 *
 * Prints the worst tensor. 0 if they agree, 1 if not, 2 for files that cannot be compared. */
#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/checkpoint/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct worst {
    double error;
    const char *name;
    size_t compared;
};

static double relative_error(const float *a, const float *b, size_t count) {
    double difference = 0;
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return INFINITY;
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    if (difference == 0)
        return 0;
    return largest > 0 ? difference / largest : INFINITY;
}

/* The bytes of a tensor, to be freed; NULL when they cannot be read. */
static void *values_of(const struct safetensors *file, const struct safetensors_entry *entry) {
    struct error err = {0};
    struct array array = {.name = entry->name, .type = entry->type, .rank = entry->rank};
    memcpy(array.shape, entry->shape, sizeof(array.shape));
    array.data = malloc(entry->size + 1);
    if (array.data != NULL && safetensors_read(file, &array, &err) == 0)
        return array.data;
    fprintf(stderr, "%s\n", err.text);
    free(array.data);
    return NULL;
}

/* WORDS: the prefix, then what a name must not hold, NULL-terminated. */
static bool is_meant(const char *name, char *const *words) {
    if (!str_starts_with(name, words[0]))
        return false;
    for (size_t i = 1; words[i] != NULL; i++)
        if (strstr(name, words[i]) != NULL)
            return false;
    return true;
}

static int compare(const struct safetensors *a, const struct safetensors *b, bool exact,
                   char *const *words, struct worst *worst) {
    for (size_t i = 0; i < a->count; i++) {
        const struct safetensors_entry *x = &a->entries[i];
        const struct safetensors_entry *y = safetensors_find(b, x->name);
        if (!is_meant(x->name, words))
            continue;
        if (y == NULL || y->size != x->size || y->type != x->type) {
            fprintf(stderr, "%s: not the same tensor in both\n", x->name);
            return -1;
        }
        cleanup_free void *u = values_of(a, x);
        cleanup_free void *v = values_of(b, y);
        if (u == NULL || v == NULL)
            return -1;
        double error = memcmp(u, v, x->size) == 0 ? 0 : INFINITY;
        if (!exact && x->type == ARRAY_F32)
            error = relative_error(u, v, x->size / sizeof(float));
        worst->compared++;
        if (worst->name == NULL || error > worst->error)
            *worst = (struct worst){error, x->name, worst->compared};
    }
    for (size_t i = 0; i < b->count; i++)
        if (is_meant(b->entries[i].name, words) &&
            safetensors_find(a, b->entries[i].name) == NULL) {
            fprintf(stderr, "%s: in the second file alone\n", b->entries[i].name);
            return -1;
        }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    cleanup_safetensors struct safetensors a = {0};
    cleanup_safetensors struct safetensors b = {0};
    struct error err = {0};
    if (safetensors_open(&a, argv[1], &err) != 0 || safetensors_open(&b, argv[2], &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    bool exact = strcmp(argv[3], "exact") == 0;
    double limit = exact ? 0 : atof(argv[3]);
    struct worst worst = {0};
    if (compare(&a, &b, exact, argv + 4, &worst) != 0 || worst.compared == 0)
        return 2;
    printf("%zu tensors, worst %s: %g\n", worst.compared, worst.name, worst.error);
    return worst.error <= limit ? 0 : 1;
}
