/* Comparison of a backend with the values of a golden file.
 *
 * A line of the file is a kind, a name or a count, torch's own error in f32 (relative), and
 * numbers. A tensor is described by its norm and its products with vectors of +-1 (hashed.py); an
 * error is given in units of that norm. */
#ifndef TESTS_GOLDEN_GOLDEN_H
#define TESTS_GOLDEN_GOLDEN_H

#include "common/buf.h"
#include "common/file/file.h"
#include "tests/golden/hashed.h"
#include "tests/support/unit.h"
#include "trainer/graph/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GOLDEN_PROJECTIONS = 8, GOLDEN_TEXT_MAX = 1 << 20 };

/* What is allowed beside three times the error of torch's own f32. */
static const double GOLDEN_FORWARD = 1e-5, GOLDEN_GRADIENT = 1e-4;

struct golden_file {
    const char *name; /* "resnet/resnet18" */
    struct buf text;
    size_t last;    /* where the line that was read last begins: the next one is mostly after it */
    size_t checked; /* tensors and lists that were compared */
};

static inline void golden_open(struct golden_file *file, const char *name) {
    struct error err = {0};
    char path[512];
    *file = (struct golden_file){.name = name};
    (void)snprintf(path, sizeof(path), RINGMASTER_TEST_DATA "/../golden/%s.txt", name);
    buf_init(&file->text, GOLDEN_TEXT_MAX);
    CU_ASSERT_EQUAL_FATAL(file_read(path, &file->text, &err), 0);
}

/* The text after "KIND NAME " in the file's line; NAME may be NULL: after "KIND " in its first one.
 */
static inline const char *golden_line(struct golden_file *file, const char *kind,
                                      const char *name) {
    char start[192];
    const char *of = name != NULL ? name : "", *gap = name != NULL ? " " : "";
    (void)snprintf(start, sizeof(start), "\n%s %s%s", kind, of, gap);
    const char *text = buf_text(&file->text);
    const char *line = name != NULL ? strstr(text + file->last, start) : NULL;
    if (line == NULL)
        line = strstr(text, start);
    if (line == NULL) {
        printf("%s: no line '%s %s'\n", file->name, kind, of);
        CU_FAIL_FATAL("a golden value is missing");
    }
    file->last = (size_t)(line - text);
    return line + strlen(start);
}

static inline double golden_number(const char **at) {
    char *end = NULL;
    double number = strtod(*at, &end);
    CU_ASSERT_FATAL(end != *at);
    *at = end;
    return number;
}

/* NaN is the worst. */
static inline double golden_worse(double worst, double apart) {
    return apart <= worst ? worst : apart;
}

static inline void golden_judge(struct golden_file *file, const char *kind, const char *name,
                                double error, double theirs, double floor) {
    double bound = fmax(floor, 3 * theirs);
    file->checked++;
    if (!(error <= bound)) {
        printf("%s %s %s: error %.3g, torch's f32 has %.3g, allowed %.3g\n", file->name, kind, name,
               error, theirs, bound);
        CU_FAIL("too far from torch");
    }
}

/* The first COUNT of a list of OF numbers. */
static inline void golden_first(struct golden_file *file, const char *kind, const float *values,
                                int count, int of, double floor) {
    char name[16];
    (void)snprintf(name, sizeof(name), "%d", of);
    const char *at = golden_line(file, kind, name);
    double theirs = golden_number(&at), worst = 0, largest = 0;
    for (int i = 0; i < count; i++) {
        double wanted = golden_number(&at);
        worst = golden_worse(worst, fabs(wanted - (double)values[i]));
        largest = fmax(largest, fabs(wanted));
    }
    golden_judge(file, kind, "", worst / largest, theirs, floor);
}

static inline void golden_values(struct golden_file *file, const char *kind, const float *values,
                                 int count, double floor) {
    golden_first(file, kind, values, count, count, floor);
}

/* Returns the index in memory (OHWI) of element I in the file's order of axes (OIHW). */
static inline size_t golden_place(const struct shape *shape, size_t i) {
    if (shape->rank != 4)
        return i;
    size_t in = (size_t)shape->dim[3], plane = (size_t)(shape->dim[1] * shape->dim[2]);
    size_t o = i / (in * plane), c = i / plane % in, p = i % plane;
    return (o * plane + p) * in + c;
}

/* +-1 for the bits of BYTE from the highest on. */
static inline const double *golden_signs(uint8_t byte) {
    static double signs[256][GOLDEN_PROJECTIONS];
    if (signs[0][0] == 0)
        for (int i = 0; i < 256 * GOLDEN_PROJECTIONS; i++)
            signs[i / GOLDEN_PROJECTIONS][i % GOLDEN_PROJECTIONS] =
                i / GOLDEN_PROJECTIONS >> (GOLDEN_PROJECTIONS - 1 - i % GOLDEN_PROJECTIONS) & 1
                    ? 1
                    : -1;
    return signs[byte];
}

/* One tensor in memory's order. LESS (may be NULL) is taken off first. */
static inline void golden_tensor(struct golden_file *file, const char *kind, const char *name,
                                 const struct shape *shape, const float *values, const float *less,
                                 double floor) {
    char stream[160];
    double products[GOLDEN_PROJECTIONS] = {0}, squares = 0, worst = 0;
    (void)snprintf(stream, sizeof(stream), "projection %s", name);
    uint64_t hash = hashed_name(stream);
    size_t count = (size_t)shape_count(shape);
    for (size_t i = 0; i < count; i++) {
        size_t place = golden_place(shape, i);
        double value = (double)values[place] - (less != NULL ? (double)less[place] : 0);
        const double *signs = golden_signs((uint8_t)(hashed(hash, 0, i) >> 56));
        for (int k = 0; k < GOLDEN_PROJECTIONS; k++)
            products[k] += signs[k] * value;
        squares += value * value;
    }
    const char *at = golden_line(file, kind, name);
    double norm = golden_number(&at), theirs = golden_number(&at);
    for (int k = 0; k < GOLDEN_PROJECTIONS; k++)
        worst = golden_worse(worst, fabs(products[k] - golden_number(&at)));
    worst = golden_worse(worst, fabs(sqrt(squares) - norm));
    golden_judge(file, kind, name, norm > 0 ? worst / norm : worst, theirs, floor);
}

#endif
