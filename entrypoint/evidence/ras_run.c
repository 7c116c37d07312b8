#include "entrypoint/evidence/ras_run.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/evidence/ras_client.h"

#include <poll.h>
#include <unistd.h>

/* RAS itself waits up to 5 s for processes that do not answer. */
static const int64_t patience = 8 * CLOCK_SECOND;
static const int64_t pause_between = RAS_WATCH_SECONDS * CLOCK_SECOND;

static json_t *describe(const struct ras_seen *s, int64_t now) {
    json_t *behind = json_array();
    for (size_t i = 0; i < s->lag.behind_count; i++)
        (void)json_array_append_new(behind, json_pack("[i, I, s]", s->lag.behind[i].rank,
                                                      (json_int_t)s->lag.behind[i].pid,
                                                      s->lag.behind[i].host));
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "communicator", s->lag.communicator,
                     "operation", s->lag.operation, "size", (json_int_t)s->lag.size, "ahead",
                     (json_int_t)(s->lag.ahead & INT64_MAX), "count", (json_int_t)s->lag.count,
                     "seconds", (json_int_t)((now - s->since) / CLOCK_SECOND), "late", behind);
}

static int print(json_t *object, FILE *out, struct error *err) {
    cleanup_json json_t *owned = object;
    if (owned == NULL)
        return error_no_memory(err, "what RAS has said");
    if (json_dumpf(owned, out, JSON_COMPACT) != 0 || fputc('\n', out) == EOF || fflush(out) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "standard output");
    return 0;
}

int ras_run_once(struct ras_watch *w, const char *address, bool *reported, FILE *out,
                 struct error *err) {
    static struct ras_answer answer;
    struct error ignored = {0};
    bool is_new = false;
    cleanup_buf struct buf text;
    buf_init(&text, RAS_ANSWER_MAX);
    /* Without an answer nothing is known: NCCL may not have begun, or be gone. */
    if (ras_client_ask(address, false, clock_now() + patience, &text, &ignored) != 0 ||
        !ras_answer_read(buf_text(&text), text.size, &answer))
        return 0;
    const int64_t now = clock_now();
    ras_watch_take(w, &answer, now);
    const struct ras_seen *stuck = ras_watch_stuck(w, now, &is_new);
    if (stuck == NULL && !*reported)
        return 0;
    *reported = stuck != NULL;
    return print(stuck != NULL ? describe(stuck, now) : json_object(), out, err);
}

int ras_run(const char *const *words, struct error *err) {
    static struct ras_watch watch;
    bool reported = false;
    if (words[0] == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "`ringmaster ras` is started by a supervisor, with an address");
    for (;;) {
        struct pollfd out = {.fd = STDOUT_FILENO};
        if (ras_run_once(&watch, words[0], &reported, stdout, err) != 0)
            return -1;
        (void)poll(&out, 1, (int)(pause_between / CLOCK_MILLISECOND));
        if (out.revents != 0) /* the supervisor is gone */
            return 0;
    }
}
