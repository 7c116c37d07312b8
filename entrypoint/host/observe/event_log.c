#include "entrypoint/host/observe/event_log.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/os/file_writer_process.h"
#include "entrypoint/os/line_splitter.h"
#include "entrypoint/os/log_file.h"

#include <stdio.h>
#include <string.h>

/* Records, ranks' lines and metrics go through one child to files in one folder (os/file_writer.h).
 * A log stays closed if no setting asks for a file, or the path is too long. It then drops what it
 * is given, except the newest metric values, which the HTTP port serves.
 *
 * Nothing is written here and nothing waits. A line goes into a queue in memory, or is dropped and
 * counted if a slow disk has left the queue full. */

/* The queue holds what the disk has not taken yet. With ranks' lines it must hold at least one of
 * the longest, and has room for two. */
enum { EVENTS_QUEUE_MAX = 512 * 1024, MIB = 1024 * 1024 };

/* Makes an event of a warning or an error. One about the events themselves is queued like others.
 */
static void heard(void *context, enum log_level level, const char *text) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    if (level >= LOG_WARNING)
        event_log_put(
            context, EVENT_LOG_SAID,
            json_pack("{s:s, s:o}", "level", names[level], "text", event_schema_text(text)));
}

/* Called when the child cannot write, at most once for each child. A missing base directory is no
 * fault: a machine that is no container has none. */
static void said(void *context, const char *text) {
    const struct event_log *j = context;
    if (str_ends_with(text, FILE_WRITER_NO_BASE)) /* as on a machine that is no container */
        log_info("no event log: %s; a volume on %s/output keeps it", text,
                 j->job->settings.base_dir);
    else
        log_warning("events and ranks' lines: %s", text);
}

void event_log_open(struct event_log *j, struct loop *loop, struct reaper *reaper,
                    const struct job *job) {
    const struct settings *settings = &job->settings;
    *j = (struct event_log){.job = job, .attempt = 1};
    int size = snprintf(j->folder, sizeof(j->folder), "%s/output/data", settings->base_dir);
    bool wanted = settings->events || settings->rank_logs > 0 || settings->metrics > 0;
    if (!wanted || size < 0 || (size_t)size >= sizeof(j->folder))
        return;
    const struct file_writer_options options = {
        .base = settings->base_dir,
        .folder = j->folder,
        .queue_max = settings->rank_logs > 0 ? 2 * (size_t)LINE_SPLITTER_MAX : EVENTS_QUEUE_MAX,
        .said = said,
        .context = j};
    file_writer_open(&j->writer, loop, reaper, &options);
    j->open = true;
    if (settings->events)
        (void)log_set_listener((struct log_listener){.hear = heard, .context = j});
}

/* May take up to a second, if the child was not asked to finish before (file_writer_close). */
void event_log_close(struct event_log *j) {
    if (!j->open)
        return;
    (void)log_set_listener((struct log_listener){0});
    j->open = false;
    if (!file_writer_close(&j->writer))
        log_warning("events or ranks' lines are missing: the disk did not answer in time");
}

void event_log_set_run(struct event_log *j, const char *run) {
    if (j != NULL)
        (void)snprintf(j->run, sizeof(j->run), "%s", run);
}

void event_log_set_attempt(struct event_log *j, unsigned attempt) {
    if (j != NULL)
        j->attempt = attempt;
}

/* --- records --------------------------------------------------------------------------------- */

/* Appends one line to the events of this host, stamped now. Returns false if it was dropped,
 * because it is longer than a record may be or finds no room. */
static bool put(struct event_log *j, enum event_log_kind kind, const json_t *members) {
    const struct cluster *cluster = &j->job->cluster;
    const char *host = cluster->hosts[cluster->self].name.text;
    const struct event_schema_stamp stamp = {.time = clock_wall(),
                                             .boot = clock_boot(),
                                             .host = host,
                                             .job = cluster->job,
                                             .run = j->run,
                                             .attempt = j->attempt};
    char name[LOG_FILE_NAME_SIZE];
    cleanup_buf struct buf line;
    buf_init(&line, EVENT_SCHEMA_LINE_MAX);
    (void)snprintf(name, sizeof(name), "events-%s.jsonl", host);
    return event_schema_line(kind, &stamp, members, &line, NULL) == 0 &&
           file_writer_put(&j->writer, name, EVENT_LOG_EVENTS_MAX, line.data, line.size);
}

/* Reports lost events as soon as there is room again. `reported` follows only when the report
 * itself has found room. If not, the writer has counted it as one more, and that is taken back. */
static void record_dropped(struct event_log *j) {
    uint64_t dropped = j->writer.dropped;
    if (dropped == j->reported)
        return;
    cleanup_json json_t *members = json_pack("{s:I}", "count", (json_int_t)(dropped - j->reported));
    if (put(j, EVENT_LOG_DROPPED, members))
        j->reported = dropped;
    else
        j->writer.dropped = dropped; /* a lost report does not count */
}

/* Nothing follows a verdict: readers take it for the last record of a job. */
void event_log_put(struct event_log *j, enum event_log_kind kind, json_t *members) {
    if (j != NULL && j->open && j->job->settings.events && !j->concluded) {
        record_dropped(j);
        (void)put(j, kind, members);
    }
    json_decref(members);
}

void event_log_host_lost(struct event_log *j, const char *which, const char *why) {
    event_log_put(j, EVENT_LOG_HOST_LOST,
                  json_pack("{s:s, s:o}", "which", which, "why", event_schema_text(why)));
}

/* The host and the rank are null where the verdict names none. The child is asked to finish, so
 * that all is written before this process exits. */
void event_log_conclude(struct event_log *j, const struct verdict *v) {
    bool known = j->open && v->host >= 0 && (size_t)v->host < j->job->cluster.count;
    json_t *members = json_pack(
        "{s:i, s:s, s:o, s:o, s:o}", "code", v->code, "class", v->class_name, "which",
        known ? json_string(j->job->cluster.hosts[v->host].name.text) : json_null(), "rank",
        v->rank >= 0 ? json_integer(v->rank) : json_null(), "text", event_schema_text(v->text));
    event_log_put(j, EVENT_LOG_VERDICT, members);
    j->concluded = true;
    event_log_rest(j);
}

/* LIMIT is in bytes, from a setting in MiB. Each rank has its file. The older half of it is dropped
 * as it fills up (os/log_file.h). */
void event_log_rank_line(struct event_log *j, unsigned rank, const char *line, size_t size) {
    char name[LOG_FILE_NAME_SIZE];
    int64_t limit = j != NULL && j->open ? j->job->settings.rank_logs * MIB : 0;
    if (limit == 0)
        return;
    (void)snprintf(name, sizeof(name), "rank-%u.log", rank);
    (void)file_writer_put(&j->writer, name, limit, line, size);
}

/* Called for every line of a rank, most of which are no metric lines. Values are kept even if the
 * log is closed, as the HTTP port needs no file. */
void event_log_metric_line(struct event_log *j, const char *line, size_t size) {
    const struct settings *s = j != NULL && j->job != NULL ? &j->job->settings : NULL;
    if (s != NULL && (s->metrics > 0 || s->metrics_port > 0))
        openmetrics_line(&j->gauges, line, size);
}

/* The whole file is replaced with each call, so a reader never sees half of it. */
void event_log_put_metrics(struct event_log *j, const struct buf *text) {
    char name[LOG_FILE_NAME_SIZE];
    const struct cluster *cluster = &j->job->cluster;
    if (!j->open || j->concluded)
        return;
    (void)snprintf(name, sizeof(name), "metrics-%s.prom", cluster->hosts[cluster->self].name.text);
    (void)file_writer_put_whole(&j->writer, name, text->data, text->size);
}

/* The child ends once it has written everything; a later line starts another one. */
void event_log_rest(struct event_log *j) {
    if (j != NULL && j->open)
        file_writer_rest(&j->writer);
}

pid_t event_log_child(const struct event_log *j) {
    return j != NULL && j->open ? j->writer.child.pid : 0;
}
