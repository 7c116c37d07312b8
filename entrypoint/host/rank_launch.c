#include "entrypoint/host/rank_launch.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/os/run_as.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/message.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 512 };

static void send_message(struct rank_launch *l, const char *text) {
    json_t *message = message_new(MESSAGE_UNSTARTED);
    (void)json_object_set_new(message, "text", json_string_any(text));
    l->send(l->context, message);
}

static void line(void *context, const char *text, size_t size) {
    const struct rank_launch *l = context;
    l->line(l->context, text, size);
}

/* A shim that ends before it has registered is one that nothing else reports. */
static void shim_ended(void *context, unsigned rank, int code, int number, const char *last) {
    struct rank_launch *l = context;
    char text[TEXT_SIZE];
    if (rank_set_has(l->rank_set, rank))
        return;
    (void)snprintf(text, sizeof(text), "the shim of rank %u %s %d before its program began%s%.300s",
                   rank, number > 0 ? "was killed by signal" : "ended with code",
                   number > 0 ? number : code, last[0] != '\0' ? ": " : "", last);
    send_message(l, text);
}

/* Checks that the master counts ranks as this host does: a rank's number is its data. */
static int check_order(const struct rank_launch *l, const json_t *order, unsigned *ret_first,
                       struct error *err) {
    const struct cluster *c = &l->services->job->cluster;
    int64_t first = -1, size = -1;
    size_t own = cluster_first_rank(c, c->self);
    if (json_member_int(order, "ranks", "first", &first, err) != 0 ||
        json_member_int(order, "ranks", "size", &size, err) != 0)
        return -1;
    if (cluster_ranks(c) > 1 && l->services->job->launcher.kind != LAUNCHER_DIRECT)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the master starts ranks directly, and this host expects mpirun: set "
                         "RINGMASTER_LAUNCHER equally on all hosts");
    if (first != (int64_t)own || size != (int64_t)cluster_ranks(c))
        return error_set(err, EXIT_CODE_INTERNAL,
                         "the master's order begins with rank %" PRId64 " of %" PRId64
                         ", this host's ranks with %zu of %zu",
                         first, size, own, cluster_ranks(c));
    if (l->shims.items != NULL || l->rank_set->slots != NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "the ranks of this host have been started");
    *ret_first = (unsigned)own;
    return 0;
}

static int start(struct rank_launch *l, const json_t *order, struct error *err) {
    cleanup_argv struct argv environment = {0};
    char self[PATH_MAX];
    unsigned first = 0;
    const struct services *with = l->services;
    const struct cluster *cluster = &with->job->cluster;
    const struct cluster_host *own = &cluster->hosts[cluster->self];
    if (check_order(l, order, &first, err) != 0 || file_self(self, sizeof(self), err) != 0 ||
        environment_daemon(with->environment, with->local->socket, &environment, err) != 0 ||
        environment_add_attempt(&environment, l->rank_set->attempt, l->run, err) != 0 ||
        run_as_add(&environment, err) != 0)
        return -1;
    const struct shims_options options = {.loop = with->loop,
                                          .reaper = with->reaper,
                                          .ringmaster = self,
                                          .host = own->name.text,
                                          .environment = &environment,
                                          .attempt = l->rank_set->attempt,
                                          .first = first,
                                          .count = own->slots,
                                          .size = (unsigned)cluster_ranks(cluster),
                                          .line = line,
                                          .ended = shim_ended,
                                          .context = l};
    l->rank_set->direct = true;
    return shims_start(&l->shims, &options, err);
}

void rank_launch_start(struct rank_launch *l, const json_t *order) {
    struct error err = {0};
    if (start(l, order, &err) != 0)
        send_message(l, err.text);
}

void rank_launch_end(struct rank_launch *l) {
    shims_done(&l->shims);
    if (l->rank_set != NULL)
        l->rank_set->direct = false;
}
