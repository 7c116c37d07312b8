#include "host/staging.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/json.h"
#include "common/log.h"
#include "common/sealed.h"
#include "common/str.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its own deadline comes first, and says more. */
enum { GRACE_SECONDS = 10 };

/* --- the order -------------------------------------------------------------------------------- */

static bool is_for_aws(const char *variable) {
    return str_starts_with(variable, "AWS_") || str_starts_with(variable, "S3_ENDPOINT_URL=") ||
           str_starts_with(variable, "SAGEMAKER_REGION=");
}

static json_t *environment_json(const struct job *job, char *const *environment) {
    json_t *list = json_array();
    const char *region = hyperparameters_get(&job->hyperparameters, "sagemaker_region");
    for (; *environment != NULL; environment++)
        if (is_for_aws(*environment))
            (void)json_array_append_new(list, json_string(*environment));
    if (region != NULL)
        (void)json_array_append_new(list, json_sprintf("SAGEMAKER_REGION=%s", region));
    return list;
}

static json_t *channel_json(const struct job *job, const struct source *s) {
    const struct cluster *c = &job->cluster;
    return json_pack("{s:s, s:s, s:o, s:I, s:I}", "what", s->name, "from", s->address, "to",
                     json_sprintf("%s/input/data/%s", job->settings.base_dir, s->name), "shard",
                     (json_int_t)(s->sharded ? c->self : 0), "shards",
                     (json_int_t)(s->sharded ? c->count : 1));
}

json_t *staging_order(const struct job *job, char *const *environment) {
    const struct sources *s = &job->sources;
    json_t *tasks = json_array();
    if (s->code != NULL)
        (void)json_array_append_new(
            tasks, json_pack("{s:s, s:s, s:o, s:b}", "what", "code", "from", s->code, "to",
                             json_sprintf("%s/code", job->settings.base_dir), "unpack", 1));
    for (size_t i = 0; i < s->count; i++)
        (void)json_array_append_new(tasks, channel_json(job, &s->channels[i]));
    return json_pack("{s:o, s:I, s:o}", "environment", environment_json(job, environment),
                     "seconds", (json_int_t)job->settings.fetch_seconds, "tasks", tasks);
}

static int make_order(const struct staging_options *o, struct error *err) {
    cleanup_json json_t *order = staging_order(o->job, o->environment);
    char *text = order != NULL ? json_dumps(order, JSON_COMPACT) : NULL;
    if (text == NULL)
        return error_no_memory(err, "the order for what is to be fetched");
    int fd = sealed_make("what is to be fetched", text, strlen(text), err);
    explicit_bzero(text, strlen(text));
    free(text);
    return fd;
}

/* --- the child -------------------------------------------------------------------------------- */

static int find_program(char path[PATH_MAX], struct error *err) {
    static const char name[] = "ringmaster-transfer";
    if (file_self(path, PATH_MAX, err) != 0)
        return -1;
    char *slash = strrchr(path, '/');
    size_t front = slash != NULL ? (size_t)(slash + 1 - path) : 0;
    if (front + sizeof(name) > PATH_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "the path of this program is too long");
    memcpy(path + front, name, sizeof(name));
    if (access(path, X_OK) == 0)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "code or channels are to be fetched, and this build of ringmaster cannot: it "
                     "was built without libcurl, libarchive or Expat (there is no %s)",
                     path);
}

static void hear(void *context, const char *line, size_t size) {
    const struct staging *s = context;
    s->line(s->context, line, size);
}

/* Its last words are its error. */
static void ended(void *context, int code) {
    struct staging *s = context;
    struct error err = {0};
    const char *words = s->task.tail.text;
    loop_cancel(s->loop, &s->deadline);
    if (code == EXIT_CODE_OK) {
        s->done(s->context, NULL);
        return;
    }
    char text[LINES_TAIL_SIZE + 1];
    (void)snprintf(text, sizeof(text), "%.*s", (int)s->task.tail.size, words);
    const char *last = strrchr(text, '\n');
    if (s->late)
        (void)error_set(
            &err, EXIT_CODE_NOT_READY,
            "what the job needs was not fetched within %lld s (RINGMASTER_FETCH_SECONDS)",
            (long long)s->seconds);
    else
        (void)error_set(&err, code < 128 ? (enum exit_code)code : EXIT_CODE_INTERNAL,
                        "fetching what the job needs: %s", last != NULL ? last + 1 : text);
    s->done(s->context, &err);
}

static void late(void *context) {
    struct staging *s = context;
    s->late = true;
    task_signal(&s->task, SIGKILL);
}

int staging_start(struct staging *s, const struct staging_options *o, struct error *err) {
    char path[PATH_MAX];
    char prefix[LINES_PREFIX_SIZE];
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    *s = (struct staging){.loop = o->loop,
                          .seconds = o->job->settings.fetch_seconds,
                          .line = o->line,
                          .done = o->done,
                          .context = o->context};
    s->deadline = (struct timer){.fire = late, .context = s};
    if (find_program(path, err) != 0)
        return -1;
    cleanup_fd int order = make_order(o, err);
    if (order < 0 || argv_add(&argv, path, err) != 0 || argv_printf(&argv, err, "%d", order) != 0 ||
        argv_set_env(&environment, "LANG", "C.UTF-8", err) != 0)
        return -1;
    (void)snprintf(prefix, sizeof(prefix), "[%s fetch] ",
                   o->job->cluster.hosts[o->job->cluster.self].name.text);
    const struct task_options options = {
        .prefix = prefix, .line = hear, .ended = ended, .context = s, .keep = order};
    if (task_start(&s->task, o->loop, o->reaper, &argv, &environment, &options, err) != 0)
        return -1;
    log_info("fetching what the job needs: %s%zu channels",
             o->job->sources.code != NULL ? "code and " : "", o->job->sources.count);
    loop_after(o->loop, &s->deadline, (s->seconds + GRACE_SECONDS) * CLOCK_SECOND);
    return 0;
}

void staging_close(struct staging *s) {
    if (s->loop == NULL)
        return;
    loop_cancel(s->loop, &s->deadline);
    task_done(&s->task);
    s->loop = NULL;
}
