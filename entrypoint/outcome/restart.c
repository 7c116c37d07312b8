#include "entrypoint/outcome/restart.h"

#include "common/clock.h"
#include "common/str.h"
#include "entrypoint/outcome/xid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAUSE_MAX_SECONDS = 300 };

void restart_progress_add(struct restart_progress *c, uint64_t step) {
    bool known = step > 0 || c->best_step > 0;
    c->fruitless = known && step <= c->best_step ? c->fruitless + 1 : 0;
    if (step > c->best_step)
        c->best_step = step;
}

static bool is_in_vain(const struct restart_facts *f) {
    struct restart_progress progress = f->before;
    restart_progress_add(&progress, f->step);
    return progress.fruitless >= RESTART_FRUITLESS_MAX;
}

/* Returns true if hosts are lost and no spare takes their place. */
static bool is_short(const struct restart_facts *f) {
    return f->host_lost &&
           (f->cluster->spares == 0 || f->hosts_left < f->cluster->count - f->cluster->spares);
}

/* Explains why hosts that are lost end the job; "" if they do not. */
static void explain_shortness(const struct settings *settings, const struct restart_facts *f,
                              char why[RESTART_WHY_SIZE]) {
    why[0] = '\0';
    if (!is_short(f))
        return;
    if (f->cluster->spares > 0 && !settings->shrink)
        (void)snprintf(why, RESTART_WHY_SIZE,
                       "no restart, as no spare is left for a lost host and RINGMASTER_SHRINK is "
                       "not 1");
    else if (!settings->shrink)
        (void)snprintf(why, RESTART_WHY_SIZE,
                       "no restart without a lost host unless RINGMASTER_SHRINK is 1");
    else if ((int64_t)f->hosts_left < settings->min_hosts)
        (void)snprintf(why, RESTART_WHY_SIZE,
                       "no restart with %zu host%s, RINGMASTER_MIN_HOSTS is %" PRId64,
                       f->hosts_left, STR_PLURAL(f->hosts_left), settings->min_hosts);
}

/* Finds the GPU that cannot be used any more and explains why its host ends the job by leaving it;
 * "" if it does not. Returns false if there is no such GPU. */
static bool has_dead_gpu(const struct settings *settings, const struct restart_facts *f,
                         char why[RESTART_WHY_SIZE]) {
    char bus[XID_BUS_SIZE];
    char of[HOST_NAME_SIZE + 8] = "";
    char gpu[XID_TEXT_SIZE];
    char rest[RESTART_WHY_SIZE];
    struct restart_facts left = *f;
    const int host = f->verdict->host;
    const struct xid_row *xid = xid_in_vain(f->verdict->evidence, bus);
    why[0] = '\0';
    if (xid == NULL || f->between)
        return xid != NULL;
    left.host_lost = true;
    left.hosts_left -= left.hosts_left > 0;
    explain_shortness(settings, &left, rest);
    if (left.hosts_left == 0 || (host <= 0 && !f->followed))
        (void)snprintf(rest, sizeof(rest), "%s",
                       left.hosts_left == 0
                           ? "there is no other host"
                           : "the first host can leave only with RINGMASTER_FAILOVER=1");
    if (host >= 0 && (size_t)host < f->cluster->count)
        (void)snprintf(of, sizeof(of), " of %s", f->cluster->hosts[host].name.text);
    xid_describe(xid, bus, of, gpu, sizeof(gpu));
    if (rest[0] != '\0')
        (void)snprintf(why, RESTART_WHY_SIZE, "no restart, as %s; %.96s", gpu, rest);
    return true;
}

static bool follows(const struct settings *settings, const struct restart_facts *f,
                    char why[RESTART_WHY_SIZE]) {
    why[0] = '\0';
    if (f->verdict->code == EXIT_CODE_OK)
        return false;
    bool stopped = f->verdict->code == EXIT_CODE_STOPPED && !f->verdict->transient;
    if ((int64_t)f->attempt > settings->restarts || stopped)
        return false;
    bool dead_gpu = has_dead_gpu(settings, f, why);
    bool wanted =
        f->verdict->rank >= 0 && settings_has_code(settings->restart_codes, f->verdict->code);
    if (!f->verdict->transient && !wanted && !dead_gpu)
        (void)snprintf(why, RESTART_WHY_SIZE, "no restart after this kind of failure");
    if (why[0] == '\0')
        explain_shortness(settings, f, why);
    if (why[0] == '\0' && is_in_vain(f))
        (void)snprintf(why, RESTART_WHY_SIZE,
                       "no restart, as %d attempts in a row got no further than step %" PRIu64,
                       RESTART_FRUITLESS_MAX, f->before.best_step);
    return why[0] == '\0';
}

static int64_t pause_after(unsigned attempt) {
    int64_t seconds = 1;
    for (unsigned i = 1; i < attempt && seconds < PAUSE_MAX_SECONDS; i++)
        seconds *= 2;
    return (seconds < PAUSE_MAX_SECONDS ? seconds : PAUSE_MAX_SECONDS) * CLOCK_SECOND;
}

/* Describes the decision; says nothing if restarts are off. */
static void append_attempt(const struct settings *settings, unsigned attempt, const char *why,
                           struct verdict *v) {
    size_t used = strlen(v->text);
    if (settings->restarts == 0 || (v->code == EXIT_CODE_OK && attempt == 1))
        return;
    (void)snprintf(v->text + used, sizeof(v->text) - used, "; attempt %u of %" PRId64 "%s%s",
                   attempt, settings->restarts + 1, why[0] != '\0' ? ", " : "", why);
}

void restart_end_between(const struct settings *settings, const struct restart_facts *f,
                         const struct error *error, int host, const char *why,
                         struct verdict *ret) {
    const struct verdict *failed = f->verdict;
    struct verdict v;
    verdict_from_error(error, f->cluster, host, &v);
    (void)snprintf(v.log_tail, sizeof(v.log_tail), "after %s: %s", failed->class_name,
                   failed->text);
    append_attempt(settings, f->attempt, why, &v);
    *ret = v;
}

void restart_decide(const struct settings *settings, const struct restart_facts *f,
                    struct restart_decision *ret) {
    struct error stopped = {0};
    *ret = (struct restart_decision){.verdict = *f->verdict};
    if (f->attempt == 0)
        return;
    if (!follows(settings, f, ret->why)) {
        append_attempt(settings, f->attempt, ret->why, &ret->verdict);
    } else if (f->stop_host >= 0) {
        (void)error_set(&stopped, EXIT_CODE_STOPPED, "stopped on request after a failure");
        restart_end_between(settings, f, &stopped, f->stop_host, "", &ret->verdict);
    } else {
        ret->again = true;
        ret->pause = pause_after(f->attempt);
    }
}
