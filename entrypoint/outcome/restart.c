#include "outcome/restart.h"

#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAUSE_MAX_SECONDS = 300 };

bool restart_follows(const struct settings *settings, const struct restart_facts *f,
                     char why[RESTART_WHY_SIZE]) {
    why[0] = '\0';
    if ((int64_t)f->attempt > settings->restarts || f->verdict->code == EXIT_CODE_STOPPED)
        return false;
    if (!f->verdict->transient)
        (void)snprintf(why, RESTART_WHY_SIZE, "no restart after such an end");
    else if (f->host_lost && !settings->shrink)
        (void)snprintf(why, RESTART_WHY_SIZE,
                       "no restart without a lost host unless RINGMASTER_SHRINK is 1");
    else if (f->host_lost && (int64_t)f->hosts_left < settings->min_hosts)
        (void)snprintf(why, RESTART_WHY_SIZE,
                       "no restart with %zu hosts, RINGMASTER_MIN_HOSTS is %" PRId64, f->hosts_left,
                       settings->min_hosts);
    return why[0] == '\0';
}

int64_t restart_pause(unsigned attempt) {
    int64_t seconds = 1;
    for (unsigned i = 1; i < attempt && seconds < PAUSE_MAX_SECONDS; i++)
        seconds *= 2;
    return (seconds < PAUSE_MAX_SECONDS ? seconds : PAUSE_MAX_SECONDS) * CLOCK_SECOND;
}

void restart_tell(const struct settings *settings, unsigned attempt, const char *why,
                  struct verdict *v) {
    size_t used = strlen(v->text);
    if (settings->restarts == 0)
        return;
    if (v->code == EXIT_CODE_OK && attempt == 1)
        return;
    (void)snprintf(v->text + used, sizeof(v->text) - used, "; attempt %u of %" PRId64 "%s%s",
                   attempt, settings->restarts + 1, why[0] != '\0' ? ", " : "", why);
}
