#include "common/scaling/scaling_variants.h"

#include "common/log/log.h"
#include "common/str.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names are folders, and parts of a page. */
static bool is_name(const char *name, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && (i == 0 || strchr("._-", name[i]) == NULL))
            return false;
    return size > 0 && size < SCALING_VARIANT_SIZE;
}

int scaling_names_add(struct scaling_names *names, const char *name, size_t size,
                      const char *option, struct error *err) {
    if (names->count == SCALING_STUDIES_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%s: at most %d names are taken", option,
                         SCALING_STUDIES_MAX);
    if (!is_name(name, size))
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: '%.*s' is no name: expected 1 to %d letters, digits, '.', '_' and "
                         "'-', the first a letter or digit",
                         option, size < 64 ? (int)size : 64, name, SCALING_VARIANT_SIZE - 1);
    char *own = names->list[names->count];
    (void)snprintf(own, SCALING_VARIANT_SIZE, "%.*s", (int)size, name);
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], own) == 0)
            return error_set(err, EXIT_CODE_USAGE, "%s: %s comes twice", option, own);
    names->count++;
    return 0;
}

size_t scaling_names_chain(const struct scaling_names *names,
                           struct scaling_study studies[SCALING_STUDIES_MAX]) {
    const size_t count = names->count > 0 ? names->count : 1;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(studies[i].variant, sizeof(studies[i].variant), "%s", names->list[i]);
        studies[i].next = i + 1 < count ? &studies[i + 1] : NULL;
    }
    return count;
}

static void log_point(const struct scaling_study *study, const struct scaling_point *p) {
    const bool named = study->variant[0] != '\0';
    if (p->failure[0] != '\0')
        log_warning("%d rank%s%s%s: failed: %s", p->ranks, STR_PLURAL(p->ranks), named ? ", " : "",
                    study->variant, p->failure);
    else
        log_info("%d rank%s on %d host%s%s%s: %.6g %s", p->ranks, STR_PLURAL(p->ranks), p->hosts,
                 STR_PLURAL(p->hosts), named ? ", " : "", study->variant, p->rate, study->unit);
}

static int measure_one(struct scaling_size *z, struct scaling_study *study, struct error *err) {
    struct scaling_point *p = scaling_add(study, z->ranks, z->hosts);
    const bool named = study->variant[0] != '\0';
    if (p == NULL || snprintf(z->last, sizeof(z->last), "%s%s%s/ranks-%d", z->folder,
                              named ? "/" : "", study->variant, z->ranks) >= (int)sizeof(z->last))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", z->folder);
    p->exposed = p->start_seconds = (double)NAN;
    p->on_one = z->on_one;
    if (z->measure(z->context, study, p, z->last, err) != 0) {
        study->count--;
        return -1;
    }
    z->any = z->any || p->failure[0] == '\0';
    log_point(study, p);
    return 0;
}

int scaling_size_measure(struct scaling_size *z, struct scaling_study *first, struct error *err) {
    for (struct scaling_study *study = first; study != NULL; study = study->next)
        if (measure_one(z, study, err) != 0)
            return -1;
    return 0;
}
