#include "entrypoint/host/ranks/progress_line.h"

#include "common/clock.h"
#include "common/str.h"
#include "entrypoint/host/ranks/rank_set.h"

#include <inttypes.h>
#include <stdio.h>

static const int64_t pause_between = CLOCK_SECOND / 2;

double progress_pace_left(struct progress_pace *pace, const struct progress_state *state,
                          int64_t now) {
    if (state->marks == 0)
        return -1;
    if (pace->begun_at == 0 || state->step < pace->step)
        *pace = (struct progress_pace){.from = state->step, .begun_at = now};
    pace->step = state->step;
    if (state->total > 0 && state->step >= state->total)
        return 0;
    if (state->total == 0 || state->step <= pace->from || now <= pace->begun_at)
        return -1;
    return (double)(now - pace->begun_at) / (double)CLOCK_SECOND *
           (double)(state->total - state->step) / (double)(state->step - pace->from);
}

void progress_line_text(struct progress_pace *pace, const struct progress_state *state,
                        size_t ranks, int64_t now, char ret[STATUS_LINE_MAX],
                        double *ret_fraction) {
    char total[32] = "", left[48] = "", time[32];
    ret[0] = '\0';
    *ret_fraction = -1;
    if (state->marks == 0)
        return;
    double seconds = progress_pace_left(pace, state, now);
    if (state->total > 0) {
        *ret_fraction = (double)state->step / (double)state->total;
        (void)snprintf(total, sizeof(total), "/%" PRIu64, state->total);
    }
    if (seconds > 0) {
        status_duration(time, sizeof(time), seconds);
        (void)snprintf(left, sizeof(left), "  %s left", time);
    }
    (void)snprintf(ret, STATUS_LINE_MAX, "step %" PRIu64 "%s  %zu rank%s%s", state->step, total,
                   ranks, STR_PLURAL(ranks), left);
}

static void look(void *context) {
    struct progress_line *p = context;
    char text[STATUS_LINE_MAX];
    double fraction = -1;
    const struct progress_state state = rank_set_progress(p->ranks);
    progress_line_text(&p->pace, &state, cluster_ranks(&p->services->job->cluster), clock_now(),
                       text, &fraction);
    console_status(p->services->console, fraction, text);
    loop_after(p->services->loop, &p->look, pause_between);
}

void progress_line_open(struct progress_line *p, const struct services *services,
                        const struct rank_set *ranks) {
    *p = (struct progress_line){
        .services = services, .ranks = ranks, .look = {.fire = look, .context = p}};
    if (console_is_terminal(services->console))
        loop_after(services->loop, &p->look, pause_between);
}

void progress_line_close(struct progress_line *p) {
    if (p->services == NULL)
        return;
    loop_cancel(p->services->loop, &p->look);
    console_status(p->services->console, -1, "");
    p->services = NULL;
}
