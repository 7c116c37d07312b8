#include "trainer/app/comm_check/comm_findings.h"

#include <stdio.h>
#include <stdlib.h>

void comm_check_done(struct comm_check *c) {
    free(c->host_of);
    free(c->hosts);
    free(c->pairs);
    *c = (struct comm_check){0};
}

static int wrong_sums(const struct measurement *m, const char *where, struct error *err) {
    if (m->wrong == 0)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE,
                     "%llu of the sums %s are wrong: memory, a GPU or a network adapter is faulty",
                     (unsigned long long)m->wrong, where);
}

static int bad_pair(const struct comm_check *c, const struct pair_result *p, struct error *err) {
    const char *a = c->hosts[p->a].name;
    const char *b = c->hosts[p->b].name;
    if (p->state == PAIR_WRONG)
        return error_set(err, EXIT_CODE_DEVICE,
                         "%s and %s: %llu of the sums between them are wrong", a, b,
                         (unsigned long long)(p->latency.wrong + p->transfer.wrong));
    return error_set(err, EXIT_CODE_DEVICE,
                     "%s and %s are slow together: %.3g GB/s, %.2g %% of what other pairs reach", a,
                     b, measurement_bus_rate(&p->transfer) / 1e9, 100 * p->share);
}

int comm_check_verdict(const struct comm_check *c, struct error *err) {
    for (int i = 0; i < c->host_count; i++) {
        char where[COMM_CHECK_NAME_SIZE + 16];
        (void)snprintf(where, sizeof(where), "within %s", c->hosts[i].name);
        if (wrong_sums(&c->hosts[i].within, where, err) != 0)
            return -1;
    }
    const struct pair_result *worst = pair_verdict_worst(c->pairs, c->pair_count);
    if (worst != NULL && bad_pair(c, worst, err) != 0)
        return c->bad_host < 0
                   ? -1
                   : error_wrap(err, "all pairs of %s are bad, and no other; one of them",
                                c->hosts[c->bad_host].name);
    for (size_t i = 0; i < c->size_count; i++)
        if (wrong_sums(&c->sizes[i], "among all ranks", err) != 0)
            return -1;
    return 0;
}
