#include "entrypoint/host/provision/trainer_status.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/host/provision/transfer_process.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Each report is one run of the transfer program, which speaks TLS with the certificates and the
 * token in the files that the variables name. Reports are best effort: at most one runs at a time,
 * a failure is logged once and not repeated, and pauses double up to TRAINER_STATUS_PAUSE_MAX. The
 * job never waits for one, except for a second at its end.
 *
 * What is reported is taken from the progress of the rank that is furthest
 * (rank_set_progress_last). */

/* For one report, and for the last one, at the end of a job. */
enum { LIMIT_SECONDS = 10, LAST_LIMIT_SECONDS = 1 };

static const char url_name[] = "KUBEFLOW_TRAINER_SERVER_URL";
static const char certificates_name[] = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
static const char token_name[] = "KUBEFLOW_TRAINER_SERVER_TOKEN";

/* --- the report ------------------------------------------------------------------------------- */

/* Values are texts in the server's API. */
static json_t *metric(const char *name, uint64_t value) {
    return json_pack("{s:s, s:o}", "name", name, "value", json_sprintf("%" PRIu64, value));
}

/* A program may report more steps than it has announced, so the percentage ends at 100. A time that
 * does not fit into an int32 is left out, as it says nothing. */
json_t *trainer_status_body(const struct progress_state *state, double left, time_t now) {
    char text[32];
    struct tm utc;
    json_t *status = json_object();
    json_t *metrics = json_array();
    (void)json_array_append_new(metrics, metric("step", state->step));
    if (state->total > 0) {
        const uint64_t done = state->step < state->total ? state->step : state->total;
        const double part = (double)done / (double)state->total;
        (void)json_object_set_new(status, "progressPercentage",
                                  json_integer((json_int_t)(part * 100)));
        (void)json_array_append_new(metrics, metric("total_steps", state->total));
    }
    if (left >= 0 && left < (double)INT32_MAX)
        (void)json_object_set_new(status, "estimatedRemainingSeconds",
                                  json_integer((json_int_t)left));
    (void)json_object_set_new(status, "metrics", metrics);
    if (gmtime_r(&now, &utc) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        (void)json_object_set_new(status, "lastUpdatedTime", json_string(text));
    return json_pack("{s:o}", "trainerStatus", status);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* The child prints only what belongs into a warning, and the last of that is in its tail. */
static void drop_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

/* A code above 128 is a signal, by which a sweep or trainer_status_conclude() has ended it: that is
 * no failure of the server. `marks` 0 makes the next look report the same step again. */
static void ended(void *context, int code) {
    struct trainer_status *t = context;
    if (code > 128) /* it was ended with the attempt */
        return;
    if (code == 0) {
        if (t->fails)
            log_info("the TrainJob's status is reported again");
        t->fails = false;
        t->seconds = TRAINER_STATUS_SECONDS;
        return;
    }
    if (!t->fails)
        log_warning(
            "the TrainJob's status is not reported: %s; it is tried again, in the end every "
            "%d s",
            t->task.late ? "no answer in time" : transfer_process_last_word(&t->task),
            TRAINER_STATUS_PAUSE_MAX);
    t->fails = true;
    t->marks = 0; /* what was to be reported still is */
    t->seconds = t->seconds < TRAINER_STATUS_PAUSE_MAX ? 2 * t->seconds : t->seconds;
}

/* The token is read by the child, so a token that Kubernetes renews is always the current one. The
 * child gets no environment, and its own deadline is a second shorter than that of its parent. */
static int send_body(struct trainer_status *t, const json_t *body, int64_t seconds,
                     struct error *err) {
    char *const *environment = t->services->environment;
    cleanup_free char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    cleanup_json json_t *order =
        json_pack("{s:[], s:I, s:{s:s, s:s, s:s, s:s}}", "environment", "seconds",
                  (json_int_t)seconds, "status", "url", env_get(environment, url_name),
                  "certificates", env_get(environment, certificates_name), "token",
                  env_get(environment, token_name), "body", text);
    const struct transfer_process_options options = {.verb = "status",
                                                     .order = order,
                                                     .line = drop_line,
                                                     .ended = ended,
                                                     .context = t,
                                                     .limit = (seconds + 1) * CLOCK_SECOND,
                                                     .ends_itself = true};
    return transfer_process_start(&t->task, t->services, &options, err);
}

/* Does nothing without progress, while a report runs, or if the step is the one reported last. A
 * child that cannot be started ends all reports: that would not get better. */
static void report(struct trainer_status *t, int64_t seconds) {
    struct error err = {0};
    const struct progress_state state = rank_set_progress_last(t->ranks);
    const double left = progress_pace_left(&t->pace, &state, clock_now());
    if (state.marks == 0 || t->task.running || (t->marks != 0 && state.step == t->step))
        return;
    cleanup_json json_t *body = trainer_status_body(&state, left, time(NULL));
    /* Noted before the child starts: its end may set `marks` back to 0. */
    t->step = state.step;
    t->marks = state.marks;
    if (send_body(t, body, seconds, &err) == 0)
        return;
    log_warning("the TrainJob's status is not reported: %s", err.text);
    trainer_status_close(t);
}

/* report() may have closed T, and then there is no next look. */
static void look(void *context) {
    struct trainer_status *t = context;
    report(t, LIMIT_SECONDS);
    if (t->services != NULL)
        loop_within(t->services->loop, &t->look, t->seconds * CLOCK_SECOND);
}

/* --- life ------------------------------------------------------------------------------------- */

/* Without a URL nothing is reported, and nothing said. A URL without TLS would give the token away,
 * so it is refused. */
static bool is_asked(char *const *environment) {
    const char *url = env_get(environment, url_name);
    if (url == NULL || url[0] == '\0')
        return false;
    if (!str_starts_with(url, "https://")) {
        log_warning("%s does not begin with https://: the TrainJob's status is not reported",
                    url_name);
        return false;
    }
    const char *const files[] = {certificates_name, token_name};
    for (size_t i = 0; i < 2; i++) {
        const char *path = env_get(environment, files[i]);
        if (path == NULL || path[0] == '\0') {
            log_warning("%s is set, and %s is not: the TrainJob's status is not reported", url_name,
                        files[i]);
            return false;
        }
    }
    return true;
}

void trainer_status_open(struct trainer_status *t, const struct services *services,
                         const struct rank_set *ranks) {
    *t = (struct trainer_status){.seconds = TRAINER_STATUS_SECONDS};
    if (!cluster_is_master(&services->job->cluster) || !is_asked(services->environment))
        return;
    t->services = services;
    t->ranks = ranks;
    t->look = (struct timer){.fire = look, .context = t};
    loop_within(services->loop, &t->look, t->seconds * CLOCK_SECOND);
}

/* After a failure, of the job or of the last report, nothing more is sent: a server that has not
 * answered would delay the end. */
void trainer_status_conclude(struct trainer_status *t, int code) {
    if (t->services == NULL)
        return;
    loop_cancel(t->services->loop, &t->look);
    if (code == 0 && !t->fails)
        report(t, LAST_LIMIT_SECONDS);
    else
        subprocess_signal(&t->task, SIGKILL); /* the end waits for no server */
}

/* Also called by report() from within a look. */
void trainer_status_close(struct trainer_status *t) {
    if (t->services == NULL)
        return;
    loop_cancel(t->services->loop, &t->look);
    subprocess_signal(&t->task, SIGKILL);
    subprocess_done(&t->task);
    t->services = NULL;
}
