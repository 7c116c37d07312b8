#include "entrypoint/host/provision/transfer_process.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/system/sealed_memfd.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_for_aws(const char *variable) {
    return str_starts_with(variable, "AWS_") || str_starts_with(variable, "S3_ENDPOINT_URL=") ||
           str_starts_with(variable, "SAGEMAKER_REGION=");
}

json_t *transfer_process_environment(const struct job *job, char *const *environment) {
    json_t *list = json_array();
    const char *region = job->request.region;
    for (; *environment != NULL; environment++)
        if (is_for_aws(*environment))
            (void)json_array_append_new(list, json_string(*environment));
    if (region != NULL)
        (void)json_array_append_new(list, json_sprintf("SAGEMAKER_REGION=%s", region));
    return list;
}

static int make_order(const json_t *order, struct error *err) {
    char *text = order != NULL ? json_dumps(order, JSON_COMPACT) : NULL;
    if (text == NULL)
        return error_no_memory(err, "the order for what is to be transferred");
    int fd = sealed_memfd_make("what is to be transferred", text, strlen(text), err);
    explicit_bzero(text, strlen(text));
    free(text);
    return fd;
}

#ifdef RINGMASTER_ONE_FILE

int transfer_process_command(struct argv *ret, struct error *err) {
    char path[PATH_MAX];
    if (file_self(path, sizeof(path), err) != 0 || argv_add(ret, path, err) != 0)
        return -1;
    return argv_add(ret, "transfer", err);
}

#else

int transfer_process_command(struct argv *ret, struct error *err) {
    static const char name[] = "ringmaster-transfer";
    char path[PATH_MAX];
    if (file_self(path, PATH_MAX, err) != 0)
        return -1;
    char *slash = strrchr(path, '/');
    size_t front = slash != NULL ? (size_t)(slash + 1 - path) : 0;
    if (front + sizeof(name) > PATH_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "the path of this program is too long");
    memcpy(path + front, name, sizeof(name));
    if (access(path, X_OK) == 0)
        return argv_add(ret, path, err);
    return error_set(err, EXIT_CODE_CONFIG,
                     "this build of ringmaster cannot download or upload files: it was built "
                     "without libcurl, libarchive or Expat (there is no %s)",
                     path);
}

#endif

int transfer_process_start(struct subprocess *t, const struct services *services,
                           const struct transfer_process_options *o, struct error *err) {
    char prefix[LINE_SPLITTER_PREFIX_SIZE];
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    if (transfer_process_command(&argv, err) != 0)
        return -1;
    cleanup_fd int order = make_order(o->order, err);
    if (order < 0 || argv_printf(&argv, err, "%d", order) != 0 ||
        argv_set_env(&environment, "LANG", "C.UTF-8", err) != 0)
        return -1;
    (void)snprintf(prefix, sizeof(prefix), "[%s %s] ",
                   services->job->cluster.hosts[services->job->cluster.self].name.text, o->verb);
    struct subprocess_options options = {.prefix = prefix,
                                         .line = o->line,
                                         .mark = o->mark,
                                         .ended = o->ended,
                                         .context = o->context,
                                         .limit = o->limit,
                                         .keep = {order, o->listener},
                                         .hold = {SIGUSR1, SIGUSR2}};
    if (o->ends_itself)
        options.hold[0] = SIGTERM;
    return subprocess_start(t, services->loop, services->reaper, &argv, &environment, &options,
                            err);
}

const char *transfer_process_last_word(const struct subprocess *t) {
    static char text[LINE_SPLITTER_TAIL_SIZE + 1];
    (void)snprintf(text, sizeof(text), "%.*s", (int)t->tail.size, t->tail.text);
    const char *last = strrchr(text, '\n');
    return last != NULL ? last + 1 : text;
}
