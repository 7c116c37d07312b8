#include "entrypoint/host/traces/journal.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "entrypoint/os/lines.h"
#include "entrypoint/os/log_file.h"

#include <stdio.h>
#include <string.h>

enum { EVENTS_QUEUE_MAX = 512 * 1024, MIB = 1024 * 1024 };

/* A warning is a record, too, but for those about records. */
static void heard(void *context, enum log_level level, const char *text) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    if (level >= LOG_WARNING)
        journal_put(context, RECORD_SAID,
                    json_pack("{s:s, s:o}", "level", names[level], "text", record_text(text)));
}

static void said(void *context, const char *text) {
    (void)context;
    log_warning("events and ranks' lines: %s", text);
}

void journal_open(struct journal *j, struct loop *loop, struct reaper *reaper,
                  const struct job *job) {
    const struct settings *settings = &job->settings;
    *j = (struct journal){.job = job, .attempt = 1};
    int size = snprintf(j->folder, sizeof(j->folder), "%s/output/data", settings->base_dir);
    bool wanted = settings->events || settings->rank_logs > 0 || settings->metrics > 0;
    if (!wanted || size < 0 || (size_t)size >= sizeof(j->folder))
        return;
    const struct scribe_options options = {
        .base = settings->base_dir,
        .folder = j->folder,
        .queue_max = settings->rank_logs > 0 ? 2 * (size_t)LINES_MAX : EVENTS_QUEUE_MAX,
        .said = said,
        .context = j};
    scribe_open(&j->scribe, loop, reaper, &options);
    j->open = true;
    if (settings->events)
        (void)log_set_listener((struct log_listener){.hear = heard, .context = j});
}

void journal_close(struct journal *j) {
    if (!j->open)
        return;
    (void)log_set_listener((struct log_listener){0});
    j->open = false;
    if (!scribe_close(&j->scribe))
        log_warning("events or ranks' lines are missing: the disk did not answer in time");
}

void journal_set_run(struct journal *j, const char *run) {
    if (j != NULL)
        (void)snprintf(j->run, sizeof(j->run), "%s", run);
}

void journal_set_attempt(struct journal *j, unsigned attempt) {
    if (j != NULL)
        j->attempt = attempt;
}

/* --- records --------------------------------------------------------------------------------- */

static bool put(struct journal *j, enum record_kind kind, const json_t *members) {
    const struct cluster *cluster = &j->job->cluster;
    const char *host = cluster->hosts[cluster->self].name.text;
    const struct record_stamp stamp = {.time = clock_wall(),
                                       .boot = clock_boot(),
                                       .host = host,
                                       .job = cluster->job,
                                       .run = j->run,
                                       .attempt = j->attempt};
    char name[LOG_FILE_NAME_SIZE];
    cleanup_buf struct buf line;
    buf_init(&line, RECORD_LINE_MAX);
    (void)snprintf(name, sizeof(name), "events-%s.jsonl", host);
    return record_line(kind, &stamp, members, &line, NULL) == 0 &&
           scribe_put(&j->scribe, name, JOURNAL_EVENTS_MAX, line.data, line.size);
}

/* As soon as there is room again, it is told what had none. */
static void tell_dropped(struct journal *j) {
    uint64_t dropped = j->scribe.dropped;
    if (dropped == j->told)
        return;
    cleanup_json json_t *members = json_pack("{s:I}", "count", (json_int_t)(dropped - j->told));
    if (put(j, RECORD_DROPPED, members))
        j->told = dropped;
    else
        j->scribe.dropped = dropped; /* the telling itself does not count */
}

void journal_put(struct journal *j, enum record_kind kind, json_t *members) {
    if (j != NULL && j->open && j->job->settings.events && !j->concluded) {
        tell_dropped(j);
        (void)put(j, kind, members);
    }
    json_decref(members);
}

void journal_conclude(struct journal *j, const struct verdict *v) {
    bool known = j->open && v->host >= 0 && (size_t)v->host < j->job->cluster.count;
    json_t *members = json_pack(
        "{s:i, s:s, s:o, s:o, s:o}", "code", v->code, "class", v->class_name, "which",
        known ? json_string(j->job->cluster.hosts[v->host].name.text) : json_null(), "rank",
        v->rank >= 0 ? json_integer(v->rank) : json_null(), "text", record_text(v->text));
    journal_put(j, RECORD_VERDICT, members);
    j->concluded = true;
    journal_rest(j);
}

void journal_rank_line(struct journal *j, unsigned rank, const char *line, size_t size) {
    char name[LOG_FILE_NAME_SIZE];
    int64_t limit = j != NULL && j->open ? j->job->settings.rank_logs * MIB : 0;
    if (limit == 0)
        return;
    (void)snprintf(name, sizeof(name), "rank-%u.log", rank);
    (void)scribe_put(&j->scribe, name, limit, line, size);
}

void journal_metric_line(struct journal *j, const char *line, size_t size) {
    const struct settings *s = j != NULL && j->job != NULL ? &j->job->settings : NULL;
    if (s != NULL && (s->metrics > 0 || s->metrics_port > 0))
        gauges_line(&j->gauges, line, size);
}

void journal_put_metrics(struct journal *j, const struct buf *text) {
    char name[LOG_FILE_NAME_SIZE];
    const struct cluster *cluster = &j->job->cluster;
    if (!j->open || j->concluded)
        return;
    (void)snprintf(name, sizeof(name), "metrics-%s.prom", cluster->hosts[cluster->self].name.text);
    (void)scribe_put_whole(&j->scribe, name, text->data, text->size);
}

void journal_rest(struct journal *j) {
    if (j != NULL && j->open)
        scribe_rest(&j->scribe);
}

pid_t journal_child(const struct journal *j) {
    return j != NULL && j->open ? j->scribe.child.pid : 0;
}
