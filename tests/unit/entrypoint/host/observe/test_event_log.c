#include "entrypoint/host/observe/event_log.h"

#include "tests/unit/entrypoint/stage.h"

#include "common/json/json.h"

static struct buf events;

/* Each line of the host's event log as JSON, in order. */
static json_t *read_events(struct stage_host *h, const char *host) {
    char path[STAGE_PATH_SIZE + 64];
    json_t *list = json_array();
    (void)snprintf(path, sizeof(path), "%s/output/data/events-%s.jsonl", h->base, host);
    buf_done(&events);
    buf_init(&events, 1 << 22);
    (void)file_read(path, &events, NULL);
    for (const char *at = buf_text(&events), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        json_t *record = NULL;
        CU_ASSERT_EQUAL(json_parse(at, (size_t)(end - at), "an event", &record, NULL), 0);
        (void)json_array_append_new(list, record != NULL ? record : json_object());
    }
    return list;
}

static const char *name_of(const json_t *record) {
    const char *name = json_string_value(json_object_get(record, "event"));
    return name != NULL ? name : "";
}

static const json_t *find(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(name_of(json_array_get(list, i)), name) == 0)
            return json_array_get(list, i);
    return NULL;
}

static bool is_member_of(const struct event_schema_row *row, const char *member) {
    for (size_t i = 0; i < EVENT_SCHEMA_MEMBERS_MAX && row->members[i] != NULL; i++)
        if (strcmp(row->members[i], member) == 0)
            return true;
    return false;
}

/* A record holds the stamp and exactly the members that the table lists for it. */
static void assert_documented(const json_t *record) {
    static const char *const stamp[] = {"v",   "time", "boot",    "host",
                                        "job", "run",  "attempt", "event"};
    const char *key;
    json_t *value;
    const struct event_schema_row *row = NULL;
    for (unsigned i = 0; i < EVENT_LOG_KINDS; i++)
        if (strcmp(event_schema_row(i)->name, name_of(record)) == 0)
            row = event_schema_row(i);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    size_t others = 0;
    json_object_foreach((json_t *)(uintptr_t)record, key, value) {
        bool known = is_member_of(row, key);
        for (size_t i = 0; i < sizeof(stamp) / sizeof(stamp[0]); i++)
            known |= strcmp(stamp[i], key) == 0;
        CU_ASSERT(known);
        others++;
    }
    for (size_t i = 0; i < EVENT_SCHEMA_MEMBERS_MAX && row->members[i] != NULL; i++)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(record, row->members[i]));
    CU_ASSERT(others > sizeof(stamp) / sizeof(stamp[0]));
}

static void a_failed_job_with_a_restart_is_recorded_event_by_event(void) {
    static const char *const settings[] = {"RINGMASTER_HOSTS=one", "RINGMASTER_HOST=one",
                                           "RINGMASTER_RESTARTS=1", "RINGMASTER_RANK_LOGS=1", NULL};
    static const char *const order[] = {
        "started",      "launched", "seated",   "rank_ended", "first_failure", "said",
        "attempt_over", "attempt",  "launched", "seated",     "rank_ended",    "first_failure",
        "goodput",      "said",     "metrics",  "verdict"};
    /* The rank fails when its start is in the log, as a rank can end before it is reported. */
    static const char program[] = "echo hello; events=$SM_OUTPUT_DATA_DIR/events-one.jsonl; "
                                  "until [ \"$(cat \"$events\" 2>/dev/null | grep -c seated)\" -ge "
                                  "\"$RINGMASTER_ATTEMPT\" ]; "
                                  "do sleep 0.05; done; kill -SEGV $$";
    struct stage_host h;
    stage_start(&h, "events", settings, (const char *[]){"--", "sh", "-c", program, NULL});
    CU_ASSERT_EQUAL(stage_end(&h), 139);
    cleanup_json json_t *list = read_events(&h, "one");
    const char *last = "";
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *record = json_array_get(list, i);
        assert_documented(record);
        /* A failure may be reported in several lines. */
        if (strcmp(name_of(record), "said") == 0 && strcmp(last, "said") == 0)
            continue;
        last = name_of(record);
        CU_ASSERT_FATAL(at < sizeof(order) / sizeof(order[0]));
        CU_ASSERT_STRING_EQUAL(last, order[at++]);
    }
    CU_ASSERT_EQUAL(at, sizeof(order) / sizeof(order[0]));
    const json_t *verdict = find(list, "verdict");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(verdict, "code")), 139);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(verdict, "attempt")), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(verdict, "which")), "one");
    ASSERT_CONTAINS(json_string_value(json_object_get(verdict, "text")), "SIGSEGV");
    char path[STAGE_PATH_SIZE + 64];
    (void)snprintf(path, sizeof(path), "%s/output/data/rank-0.log", h.base);
    CU_ASSERT_STRING_EQUAL(stage_read(&h, path), "hello\nhello\n");
}

static void lines_of_any_kind_come_into_a_ranks_file(void) {
    static const char *const settings[] = {"RINGMASTER_HOSTS=one", "RINGMASTER_HOST=one",
                                           "RINGMASTER_EVENTS=0", "RINGMASTER_RANK_LOGS=1", NULL};
    struct stage_host h;
    char path[STAGE_PATH_SIZE + 64];
    stage_start(&h, "lines", settings,
                (const char *[]){"--", "sh", "-c",
                                 "printf 'a\\203b\\033[0m\\000c\\r'; head -c 1048576 /dev/zero | "
                                 "tr '\\0' z; echo; printf 'no end'",
                                 NULL});
    CU_ASSERT_EQUAL(stage_end(&h), 0);
    cleanup_buf struct buf got;
    buf_init(&got, 4 << 20);
    (void)snprintf(path, sizeof(path), "%s/output/data/rank-0.log.1", h.base);
    CU_ASSERT_EQUAL(file_read(path, &got, NULL), 0);
    ASSERT_CONTAINS(buf_text(&got), "zzz [cut]\n"); /* a log file holds half a MiB */
    (void)snprintf(path, sizeof(path), "%s/output/data/rank-0.log", h.base);
    CU_ASSERT_STRING_EQUAL(stage_read(&h, path), "no end\n");
    (void)snprintf(path, sizeof(path), "%s/output/data/events-one.jsonl", h.base);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

static void success_and_a_stop_are_reported(void) {
    static const char *const settings[] = {"RINGMASTER_HOSTS=one", "RINGMASTER_HOST=one", NULL};
    struct stage_host h;
    stage_start(&h, "good", settings, (const char *[]){"--", "true", NULL});
    CU_ASSERT_EQUAL(stage_end(&h), 0);
    cleanup_json json_t *good = read_events(&h, "one");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(find(good, "verdict"), "code")), 0);
    CU_ASSERT(json_is_null(json_object_get(find(good, "verdict"), "which")));
    CU_ASSERT_PTR_NULL(find(good, "first_failure"));
    stage_start(&h, "stop", settings,
                (const char *[]){"--", "sh", "-c", "echo ready; exec sleep 60", NULL});
    CU_ASSERT(stage_wait_for(&h, "ready"));
    (void)kill(h.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&h), 143);
    cleanup_json json_t *stopped = read_events(&h, "one");
    assert_documented(find(stopped, "stop"));
    CU_ASSERT_PTR_NULL(find(stopped, "first_failure"));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(find(stopped, "rank_ended"), "cause")),
                           "stop");
}

static void metrics_are_written_where_they_are_asked_for(void) {
    static const char *const settings[] = {"RINGMASTER_HOSTS=one", "RINGMASTER_HOST=one",
                                           "RINGMASTER_METRICS=1", NULL};
    struct stage_host h;
    char path[STAGE_PATH_SIZE + 64];
    stage_start(&h, "metrics", settings,
                (const char *[]){"--", "sh", "-c",
                                 "echo train step=7 loss=0.5; echo train bad=x; sleep 2; exit 3",
                                 NULL});
    CU_ASSERT_EQUAL(stage_end(&h), 3);
    (void)snprintf(path, sizeof(path), "%s/output/data/metrics-one.prom", h.base);
    const char *text = stage_read(&h, path);
    ASSERT_CONTAINS(text, "# TYPE ringmaster_train_loss gauge\n");
    ASSERT_CONTAINS(text, "\nringmaster_train_step 7\n");
    ASSERT_CONTAINS(text, "\nringmaster_hosts 1\n");
    ASSERT_CONTAINS(text, "\nringmaster_exit_code 3\n");
    CU_ASSERT_PTR_NULL(strstr(text, "bad"));
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 6, "# EOF\n");
}

/* The job does not depend on the log. */
static void a_folder_that_cannot_be_written_is_a_warning(void) {
    static const char *const settings[] = {"RINGMASTER_HOSTS=one", "RINGMASTER_HOST=one", NULL};
    struct stage_host h;
    char path[STAGE_PATH_SIZE + 64];
    (void)snprintf(path, sizeof(path), "%s/blocked/output", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/blocked/output/data", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(path, "a file", 6, 0644, NULL), 0);
    stage_start(&h, "blocked", settings, (const char *[]){"--", "sleep", "1", NULL});
    CU_ASSERT_EQUAL(stage_end(&h), 0);
    ASSERT_CONTAINS(stage_output(&h), "events and ranks' lines: ");
}

/* Dropped records are reported as soon as there is room. */
static void dropped_records_are_counted(void) {
    struct job job = {0};
    struct loop loop;
    struct reaper reaper = {0};
    struct event_log j;
    struct cluster_host hosts[1] = {0};
    char base[STAGE_PATH_SIZE];
    (void)snprintf(base, sizeof(base), "%s/dropped", unit_temp_dir());
    (void)snprintf(hosts[0].name.text, sizeof(hosts[0].name.text), "one");
    job.settings.base_dir = base;
    job.settings.events = true;
    job.cluster.hosts = hosts;
    job.cluster.count = 1;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    event_log_open(&j, &loop, &reaper, &job);
    for (int i = 0; i < 1000000 && j.writer.dropped == 0; i++) /* records are also being written */
        event_log_put(&j, EVENT_LOG_SAID, json_pack("{s:s, s:s}", "level", "error", "text", "x"));
    CU_ASSERT(j.writer.dropped > 0);
    CU_ASSERT_EQUAL(j.reported, 0);
    buf_consume(&j.writer.queue, j.writer.queue.size);
    event_log_put(&j, EVENT_LOG_SAID, json_pack("{s:s, s:s}", "level", "error", "text", "y"));
    CU_ASSERT_EQUAL(j.reported, j.writer.dropped);
    ASSERT_CONTAINS(buf_text(&j.writer.queue) + sizeof(uint64_t) * 2, "events-one.jsonl");
    CU_ASSERT_PTR_NOT_NULL(
        memmem(j.writer.queue.data, j.writer.queue.size, "\"event\":\"dropped\"", 17));
    event_log_close(&j);
    event_log_put(NULL, EVENT_LOG_SAID, NULL);
    event_log_rest(NULL);
    CU_ASSERT_EQUAL(event_log_child(NULL), 0);
    loop_done(&loop);
}

STAGE_SUITE("host.event_log", UNIT(a_failed_job_with_a_restart_is_recorded_event_by_event),
            UNIT(lines_of_any_kind_come_into_a_ranks_file), UNIT(success_and_a_stop_are_reported),
            UNIT(metrics_are_written_where_they_are_asked_for),
            UNIT(a_folder_that_cannot_be_written_is_a_warning), UNIT(dropped_records_are_counted))
