#include "trainer/app/device/roles.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int check_flags(const struct options *o, struct error *err) {
    const bool asked = o->strategy == OPTION_PS_SYNC || o->strategy == OPTION_PS_ASYNC;
    if (o->servers > 0 && o->server_hosts > 0)
        return error_set(err, EXIT_CODE_USAGE, "--servers and --server-hosts: give one of them");
    if (asked && o->servers == 0 && o->server_hosts == 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--strategy %s: give --servers N, the number of ranks that keep the "
                         "parameters, or --server-hosts N",
                         options_strategy_name((enum option_strategy)o->strategy));
    if (!asked && (o->servers > 0 || o->server_hosts > 0))
        return error_set(err, EXIT_CODE_USAGE,
                         "--%s: there are servers with --strategy ps-sync and ps-async alone",
                         o->servers > 0 ? "servers" : "server-hosts");
    return 0;
}

/* Returns how many ranks the last HOSTS hosts have, -1 if there are not more hosts, or if the ranks
 * of a host do not follow each other. LOCAL are the ranks' numbers on their hosts. */
static int ranks_of_last(const int32_t *local, int ranks, int64_t hosts) {
    int first = ranks;
    for (int64_t left = hosts; left > 0 && first > 0; left--)
        while (--first > 0 && local[first] != 0)
            if (local[first] != local[first - 1] + 1)
                return -1;
    return first > 0 ? ranks - first : -1;
}

static int find_hosts(const struct options *o, struct comm *all, int *ret, struct error *err) {
    const int ranks = comm_size(all);
    const int32_t own = comm_local_rank(all);
    cleanup_free int32_t *local = calloc((size_t)ranks, sizeof(*local));
    if (local == NULL)
        return error_no_memory(err, "hosts of all ranks");
    if (comm_gather(all, &own, sizeof(own), local, err) != 0)
        return -1;
    *ret = ranks_of_last(local, ranks, o->server_hosts);
    return *ret > 0 ? 0
                    : error_set(err, EXIT_CODE_CONFIG,
                                "--server-hosts %" PRId64
                                ": there have to be more hosts, with ranks that follow each other "
                                "on each of them; --servers N names the last N ranks",
                                o->server_hosts);
}

int roles_open(struct roles *r, const struct options *o, struct comm *all, struct error *err) {
    int servers = (int)o->servers;
    *r = (struct roles){.all = all, .own = all, .workers = comm_size(all)};
    if (check_flags(o, err) != 0 || (o->server_hosts > 0 && find_hosts(o, all, &servers, err) != 0))
        return -1;
    if (servers >= comm_size(all))
        return error_set(err, EXIT_CODE_CONFIG,
                         "--servers %d: of %d rank%s at least one has to train", servers,
                         comm_size(all), STR_PLURAL(comm_size(all)));
    if (servers == 0)
        return 0;
    if (o->strategy == OPTION_PS_ASYNC && strcmp(comm_name(all), "tcp") != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "--strategy ps-async: MPI ends all ranks with one that is lost; give "
                         "--comm tcp");
    r->workers -= servers;
    r->serves = comm_rank(all) >= r->workers;
    if (comm_rank(all) == 0)
        log_info("%d rank%s train%s, %d keep%s the parameters", r->workers, STR_PLURAL(r->workers),
                 r->workers == 1 ? "s" : "", servers, servers == 1 ? "s" : "");
    return comm_split(all, r->serves ? 1 : 0, &r->own, err);
}

void roles_done(struct roles *r) {
    if (r->own != r->all)
        comm_close(r->own);
    r->own = NULL;
}
