#include "entrypoint/study/study_values.h"

#include "common/cleanup.h"
#include "common/text/metric_scan.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES_MAX = 65536, WARM_UP = 6 };

/* Returns how many values there are. */
static size_t read_values(const char *folder, const char *metric, double *ret, size_t room) {
    char path[PATH_MAX];
    size_t count = 0;
    if (snprintf(path, sizeof(path), "%s/rank-0.log", folder) >= (int)sizeof(path) ||
        metric_scan_file(path, metric, ret, room, &count, NULL) != 0)
        return 0;
    return count;
}

double study_values_last(const char *folder, const char *metric) {
    double value = (double)NAN;
    return read_values(folder, metric, &value, 1) == 1 ? value : (double)NAN;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double study_values_median(const char *folder, const char *metric) {
    cleanup_free double *list = calloc(VALUES_MAX, sizeof(*list));
    if (list == NULL)
        return (double)NAN;
    const size_t count = read_values(folder, metric, list, VALUES_MAX);
    if (count == 0)
        return (double)NAN;
    const size_t skipped = count == 1 ? 0 : count / WARM_UP > 0 ? count / WARM_UP : 1;
    double *rest = list + skipped;
    const size_t left = count - skipped;
    for (size_t i = 0; i < left; i++)
        if (isnan(rest[i]))
            return (double)NAN;
    qsort(rest, left, sizeof(*rest), ascending);
    return left % 2 == 1 ? rest[left / 2] : (rest[left / 2 - 1] + rest[left / 2]) / 2;
}
