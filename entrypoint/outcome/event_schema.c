#include "entrypoint/outcome/event_schema.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/text/redact.h"

#include <stdlib.h>
#include <string.h>

enum { CLEAN_MAX = 256 * 1024 };

static const struct event_schema_row table[EVENT_LOG_KINDS] = {
    [EVENT_LOG_STARTED] = {"started",
                           "the launcher of this host has begun",
                           {"version", "role", "hosts", "ranks"}},
    [EVENT_LOG_SAID] = {"said", "a warning or an error of the launcher", {"level", "text"}},
    [EVENT_LOG_JOINED] = {"joined",
                          "at the first host: another host is here; at others: this one has "
                          "joined the first",
                          {"which", "count"}},
    [EVENT_LOG_LAUNCHED] = {"launched",
                            "the ranks are being started, by the launcher mpirun or direct",
                            {"ranks", "hosts", "launcher", "openmpi"}},
    [EVENT_LOG_RANKS_STARTED] = {"seated",
                                 "all ranks have started; seconds after the launch",
                                 {"ranks", "seconds"}},
    [EVENT_LOG_RANK_ENDED] = {"rank_ended",
                              "a rank of this host ended: end is exited, signalled or "
                              "vanished, cause is none, stop or teardown",
                              {"rank", "end", "value", "cause", "memory"}},
    [EVENT_LOG_STALLED] = {"stalled",
                           "a rank showed no progress for so many seconds; states: what its "
                           "threads waited in; of an attempt, 16 ranks at most",
                           {"which", "rank", "seconds", "states"}},
    [EVENT_LOG_STUCK] =
        {"stuck",
         "the job stands still: which ranks wait for which; rank: the first that the "
         "others wait for, or -1",
         {"rank", "text"}},
    [EVENT_LOG_STRAGGLER] =
        {"straggler",
         "the other ranks wait for this one, or it is behind: seconds of its own "
         "time for a step, of that for data, and the median of the others; or "
         "from step to step",
         {"which", "rank", "behind", "seconds", "data", "others"}},
    [EVENT_LOG_HOST_LOST] = {"host_lost", "a host is lost", {"which", "why"}},
    [EVENT_LOG_BACK] = {"back",
                        "at the first host: a host that was lost is back and waits for the next "
                        "attempt; at that one: it waits there",
                        {"which"}},
    [EVENT_LOG_FIRST_FAILURE] = {"first_failure",
                                 "the first failure of an attempt that was heard of; "
                                 "the verdict weighs what follows",
                                 {"which", "rank", "text"}},
    [EVENT_LOG_RANK_LOST] =
        {"rank_lost",
         "at the first host: a rank has failed, and the others go on "
         "(RINGMASTER_LOST_RANKS); lines: its last ones; count: ranks lost so far",
         {"which", "rank", "text", "evidence", "lines", "count"}},
    [EVENT_LOG_STOP] = {"stop", "a stop was asked for; which: where", {"which", "again"}},
    [EVENT_LOG_ATTEMPT_OVER] = {"attempt_over",
                                "an attempt has failed and another one follows after "
                                "so many seconds",
                                {"code", "class", "text", "seconds"}},
    [EVENT_LOG_ATTEMPT] = {"attempt", "another attempt begins", {"ranks", "hosts"}},
    [EVENT_LOG_METRICS] = {"metrics",
                           "how many lines of this host's ranks each metric definition matched, of "
                           "so many that were looked at; unread: for which there was no time; "
                           "never: at the first host, those that matched nowhere; or null",
                           {"counts", "lines", "unread", "never"}},
    [EVENT_LOG_GOODPUT] = {"goodput",
                           "at the first host: what became of the job's time, in seconds; lost and "
                           "down are objects of seconds by cause, rank, host, stall and launch",
                           {"ratio", "useful", "startup", "checkpoints", "lost", "down",
                            "failures"}},
    [EVENT_LOG_VERDICT] = {"verdict",
                           "how the job ended; which and rank are of the culprit, where "
                           "there is one",
                           {"code", "class", "which", "rank", "text"}},
    [EVENT_LOG_DROPPED] = {"dropped",
                           "so many records or lines were dropped before this one, as the "
                           "disk was too slow",
                           {"count"}},
};

const struct event_schema_row *event_schema_row(enum event_log_kind kind) {
    return &table[kind];
}

json_t *event_schema_text(const char *text) {
    cleanup_buf struct buf redacted;
    cleanup_buf struct buf clean;
    buf_init(&redacted, CLEAN_MAX);
    buf_init(&clean, CLEAN_MAX);
    if (redact_text(&redacted, text, NULL) != 0 ||
        str_add_utf8(&clean, buf_text(&redacted), redacted.size, NULL) != 0)
        return json_string("");
    size_t size = str_utf8_prefix(buf_text(&clean), clean.size, EVENT_SCHEMA_TEXT_MAX);
    return json_stringn(buf_text(&clean), size);
}

static json_t *stamp_json(enum event_log_kind kind, const struct event_schema_stamp *stamp) {
    char time[CLOCK_STAMP_SIZE];
    clock_stamp(stamp->time, time);
    return json_pack("{s:i, s:s, s:f, s:o, s:o, s:s, s:i, s:s}", "v", EVENT_SCHEMA_VERSION, "time",
                     time, "boot", (double)(stamp->boot / CLOCK_MILLISECOND) / 1000, "host",
                     event_schema_text(stamp->host), "job", event_schema_text(stamp->job), "run",
                     stamp->run, "attempt", (int)stamp->attempt, "event", table[kind].name);
}

int event_schema_line(enum event_log_kind kind, const struct event_schema_stamp *stamp,
                      const json_t *members, struct buf *ret, struct error *err) {
    cleanup_json json_t *record = stamp_json(kind, stamp);
    if (record == NULL ||
        (members != NULL && json_object_update_missing(record, (json_t *)(uintptr_t)members) != 0))
        return error_no_memory(err, "a record");
    cleanup_free char *text = json_shortest(record, JSON_COMPACT);
    if (text == NULL)
        return error_no_memory(err, "a record");
    if (strlen(text) + 1 > EVENT_SCHEMA_LINE_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "a record of %zu bytes", strlen(text));
    if (buf_add_text(ret, text, err) != 0)
        return -1;
    return buf_add(ret, "\n", 1, err);
}

static int page_row(const struct event_schema_row *row, struct buf *ret, struct error *err) {
    if (buf_printf(ret, err, "| `%s` | %s |", row->name, row->what) != 0)
        return -1;
    for (size_t i = 0; i < EVENT_SCHEMA_MEMBERS_MAX && row->members[i] != NULL; i++)
        if (buf_printf(ret, err, "%s`%s`", i > 0 ? ", " : " ", row->members[i]) != 0)
            return -1;
    return buf_add_text(ret, " |\n", err);
}

int event_schema_page(struct buf *ret, struct error *err) {
    if (buf_add_text(ret, "| event | what it tells | members |\n| --- | --- | --- |\n", err) != 0)
        return -1;
    for (size_t i = 0; i < EVENT_LOG_KINDS; i++)
        if (page_row(&table[i], ret, err) != 0)
            return -1;
    return 0;
}
