#include "entrypoint/transfer/upload_order.h"

#include "common/clock.h"
#include "entrypoint/transfer/disk/inotify_wait.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Life of the process. The container's first process starts it before the job's programs and awaits
 * its end after them. It has three phases: `meet` reads what the targets have, and `accompany`
 * uploads live folders round by round until a signal comes. Then no process writes any more, and
 * `end` uploads all that is left.
 *
 * The two signals are the only input after the order, from host/provision/output_upload.c. Their
 * handler sets flags, which the loops here, the uploads and the pool of requests look at. If this
 * process dies early, that file starts another one at the job's end, which then sends everything.
 */

enum {
    SECONDS_MAX = 7 * 86400,
    AGAIN_SECONDS = 30, /* pause after a failure while the job runs */
    LINE_MAX_SIZE = 1024,
};

/* Set by the handler and never cleared while uploads run. SIGUSR2 sets both: what gives up also
 * ends. */
static volatile sig_atomic_t finish;
static volatile sig_atomic_t give_up;

/* --- parsing the order ------------------------------------------------------------------------ */

void upload_order_done(struct upload_order *o) {
    for (size_t i = 0; i < o->count; i++)
        upload_done(&o->uploads[i]);
    s3_close(&o->s3);
    *o = (struct upload_order){0};
}

/* Adds one upload to O. A target has to end with '/', as file names are appended to it. The upload
 * is counted as soon as its address is owned, so that upload_order_done frees it after an error. */
static int parse_upload(const json_t *item, struct upload_order *o, struct error *err) {
    static const char where[] = "the order's upload";
    struct upload *u = &o->uploads[o->count];
    const char *to = NULL;
    if (json_member_string(item, where, "what", &u->what, err) != 0 ||
        json_member_string(item, where, "from", &u->from, err) != 0 ||
        json_member_string(item, where, "only", &u->only, err) != 0 ||
        json_member_string(item, where, "to", &to, err) != 0 ||
        json_member_bool(item, where, "live", &o->live[o->count], err) != 0)
        return -1;
    if (u->what == NULL || u->from == NULL || to == NULL || to[0] == '\0' ||
        to[strlen(to) - 1] != '/')
        return error_set(err, EXIT_CODE_INTERNAL,
                         "%s lacks what, from or to, or the last is no folder", where);
    if (address_parse(to, &u->to, err) != 0)
        return -1;
    o->count++;
    /* A checkpoint that the job removes from a live folder is removed at the target, too. */
    u->mirror = o->live[o->count - 1];
    u->s3 = &o->s3;
    u->give_up = &give_up;
    if (u->to.kind != ADDRESS_HTTP)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "%s: files can only be uploaded to s3:// or file://",
                     u->to.shown);
}

int upload_order_parse(const json_t *uploads, const struct argv *environment, int64_t seconds,
                       struct upload_order *ret, struct error *err) {
    *ret = (struct upload_order){.seconds = seconds};
    int result = s3_open(&ret->s3, environment, err);
    if (result == 0 &&
        (json_array_size(uploads) > UPLOAD_ORDER_MAX || seconds < 1 || seconds > SECONDS_MAX))
        result = error_set(err, EXIT_CODE_INTERNAL, "the order has too many uploads, or no time");
    for (size_t i = 0; result == 0 && i < json_array_size(uploads); i++)
        result = parse_upload(json_array_get(uploads, i), ret, err);
    if (result != 0)
        upload_order_done(ret);
    return result;
}

/* --- life of the process ---------------------------------------------------------------------- */

static void on_signal(int number) {
    if (number == SIGUSR2)
        give_up = 1;
    finish = 1;
}

/* A signal from before is still pending, because a job may end as soon as it has begun. */
int upload_order_listen(struct error *err) {
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t both;
    finish = give_up = 0;
    (void)sigemptyset(&both);
    (void)sigaddset(&both, SIGUSR1);
    (void)sigaddset(&both, SIGUSR2);
    if (sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0 &&
        sigprocmask(SIG_UNBLOCK, &both, NULL) == 0)
        return 0;
    return error_set_errno(err, EXIT_CODE_INTERNAL, "signals");
}

/* Tells of a failure while the job runs. It is no error yet: the same files are tried again, in the
 * next round or at the end. */
static void warn(const struct upload *u, const struct error *err) {
    char line[LINE_MAX_SIZE];
    (void)snprintf(line, sizeof(line), "%s: warning: not uploaded, trying again: %.700s", u->what,
                   err->text);
    u->say(line);
}

/* Runs one round of the live uploads. Returns false if any of it failed. Each upload has the whole
 * time of the order, counted from now: there is no overall limit while the job runs. A failure that
 * came with the end of the job is not reported, as `end` will send these files. */
static bool go_round(struct upload_order *o) {
    bool good = true;
    for (size_t i = 0; i < o->count; i++) {
        struct upload *u = &o->uploads[i];
        struct error err = {0};
        u->deadline = clock_now() + o->seconds * CLOCK_SECOND;
        if (!o->live[i] || upload_round(u, false, &err) == 0)
            continue;
        good = false;
        if (finish == 0)
            warn(u, &err);
    }
    return good;
}

static bool has_live(const struct upload_order *o) {
    for (size_t i = 0; i < o->count; i++)
        if (o->live[i])
            return true;
    return false;
}

/* Watches the live folder; with several, the last of them. Others are seen all the same, as every
 * round looks at all, and rounds follow each other after INOTIFY_WAIT_LOOK_SECONDS at most. */
static int open_watching(const struct upload_order *o, struct inotify_wait *w, struct error *err) {
    const char *folder = NULL;
    for (size_t i = 0; i < o->count; i++)
        if (o->live[i])
            folder = o->uploads[i].from;
    return inotify_wait_open(w, folder, err);
}

/* Uploads while the job runs. Returns 0 once a signal has come, also if every round failed. Without
 * live uploads it only waits. */
static int accompany(struct upload_order *o, struct error *err) {
    struct inotify_wait watching;
    if (open_watching(o, &watching, err) != 0)
        return -1;
    while (finish == 0) {
        int64_t wait = go_round(o) ? INOTIFY_WAIT_LOOK_SECONDS : AGAIN_SECONDS;
        inotify_wait_wait(&watching, wait * CLOCK_SECOND, &finish);
    }
    inotify_wait_done(&watching);
    return 0;
}

/* Finds out what the targets already have, so that it is not sent again. If that fails, everything
 * is sent. */
static void meet(struct upload_order *o) {
    for (size_t i = 0; i < o->count; i++) {
        struct upload *u = &o->uploads[i];
        struct error err = {0};
        u->deadline = clock_now() + o->seconds * CLOCK_SECOND;
        if (o->live[i] && upload_meet(u, &err) != 0)
            warn(u, &err);
    }
}

/* Uploads as much as possible; the first failure is reported. All uploads share one deadline, that
 * of the order, which begins with this call. A failed one does not keep the others from being
 * tried. */
static int end(struct upload_order *o, struct error *err) {
    struct error first = {0};
    int64_t deadline = clock_now() + o->seconds * CLOCK_SECOND;
    for (size_t i = 0; i < o->count; i++) {
        struct upload *u = &o->uploads[i];
        struct error failure = {0};
        u->deadline = deadline;
        if (upload_round(u, true, &failure) == 0)
            continue;
        (void)error_wrap(&failure, "%s", u->what);
        if (first.code == 0)
            first = failure;
    }
    if (first.code == 0)
        return 0;
    if (err != NULL)
        *err = first;
    return -1;
}

/* Stopping a container may send SIGTERM to all its processes; the job's results are uploaded all
 * the same. SIGIO arrives if a process opens a file on which scan_at_rest has just taken a lease.
 */
static void ignore_others(void) {
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGIO};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        (void)signal(ignored[i], SIG_IGN);
}

int upload_order_run(struct upload_order *o, void (*say)(const char *line), struct error *err) {
    ignore_others();
    for (size_t i = 0; i < o->count; i++)
        o->uploads[i].say = say;
    /* A job that has already ended goes straight to its last round. */
    if (has_live(o) && finish == 0)
        meet(o);
    if (accompany(o, err) != 0)
        return -1;
    return end(o, err);
}
