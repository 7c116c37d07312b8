#include "entrypoint/mpi/openmpi.h"

#include "common/str.h"
#include "entrypoint/mpi/addresses.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Both series are started in the same way, and differ in names: what 4.1 calls orte_... and takes
 * with --mca, 5.0 calls prte_... and takes with a flag for each of its layers. The table has one
 * row for each parameter, with both names, so that a reader sees what is set and why in one place.
 *
 * A host that runs a daemon computes the same options from the same facts. Those are what
 * daemon_command.c compares the request with, except for options marked `own`, which differ from
 * host to host. */

/* --- versions -------------------------------------------------------------------------------- */

/* Reads digits up to END; a number of more than three digits stops after the fourth. Returns false
 * if there is none. */
static bool take_number(const char **at, const char *end, unsigned *ret) {
    unsigned value = 0;
    const char *start = *at;
    while (*at < end && isdigit((unsigned char)**at) && value < 1000)
        value = value * 10 + (unsigned)(*(*at)++ - '0');
    *ret = value;
    return *at > start;
}

/* Moves *AT past a dot, if one is there. */
static bool take_dot(const char **at, const char *end) {
    if (*at == end || **at != '.')
        return false;
    (*at)++;
    return true;
}

int openmpi_parse_version(const char *text, size_t size, struct openmpi *ret, struct error *err) {
    static const char mark[] = "(Open MPI) ";
    const char *at = memmem(text, size, mark, sizeof(mark) - 1);
    const char *end = text + size;
    struct openmpi v = {0};
    if (at != NULL)
        at += sizeof(mark) - 1;
    if (at == NULL || !take_number(&at, end, &v.major) || !take_dot(&at, end) ||
        !take_number(&at, end, &v.minor) || !take_dot(&at, end) ||
        !take_number(&at, end, &v.release))
        return error_set(err, EXIT_CODE_CONFIG,
                         "mpirun is not Open MPI: mpirun --version prints \"%.*s\"",
                         (int)(size < 80 ? size : 80), text);
    /* 5.x is taken for 5.0. */
    bool known = (v.major == 4 && v.minor == 1) || v.major == 5;
    if (!known)
        return error_set(err, EXIT_CODE_CONFIG,
                         "Open MPI %u.%u.%u is not supported; use 4.1 or 5.0", v.major, v.minor,
                         v.release);
    v.series = v.major == 4 ? OPENMPI_4_1 : OPENMPI_5_0;
    *ret = v;
    return 0;
}

const char *openmpi_daemon(enum openmpi_series series) {
    return series == OPENMPI_4_1 ? "orted" : "prted";
}

int openmpi_daemon_name(enum openmpi_series series, const char *node, struct argv *environment,
                        struct error *err) {
    if (series != OPENMPI_5_0)
        return 0;
    /* The daemon's number is ess_base_vpid plus Slurm's number of the node. */
    if (argv_set_env(environment, "SLURM_JOBID", "0", err) != 0 ||
        argv_set_env(environment, "SLURM_NODEID", "0", err) != 0)
        return -1;
    return argv_set_env(environment, "SLURMD_NODENAME", node, err);
}

/* Returns 1 if it does, 0 if not. */
int openmpi_has_parameters(const char *custom, struct error *err) {
    struct custom_options options = {0};
    int found = custom == NULL ? 0 : custom_options_parse(custom, &options, err);
    for (size_t i = 0; found == 0 && i < options.environment.count; i++)
        found = str_starts_with(options.environment.items[i], "OMPI_MCA_");
    custom_options_done(&options);
    return found;
}

int openmpi_daemon_topology(const char *custom, struct argv *environment, struct error *err) {
    /* These are the components of hwloc that search for devices. Some are built in and some are
     * plugins, which load large libraries. hwloc has no setting for "no plugins", so the path of
     * its plugins is not a folder. */
    static const char none[] = "-pci,-linuxpci,-linuxio,-gl,-opencl,-cuda,-nvml,-rsmi,-levelzero";
    int parameters = openmpi_has_parameters(custom, err);
    if (parameters != 0)
        return parameters < 0 ? -1 : 0;
    if (argv_set_env(environment, "HWLOC_COMPONENTS", none, err) != 0)
        return -1;
    return argv_set_env(environment, "HWLOC_PLUGINS_PATH", "/dev/null", err);
}

/* --- table of parameters --------------------------------------------------------------------- */

/* Source of a parameter's value. */
enum source {
    FIXED,
    AGENT,
    HOSTS,
    INTERFACE,
    NETWORK,
    PORT_V4,
    PORT_V6,
    DATA_FIRST,
    DATA_COUNT,
    DATA_FIRST_V6,
    DATA_COUNT_V6,
    SHARED,
    WAY,
    ALIVE_TIME,
    ALIVE_INTERVAL
};

/* A parameter in both series; its name is NULL in a series that does not have it. */
struct row {
    const char *name[2]; /* by enum openmpi_series */
    const char *flag_5;  /* 4.1 uses --mca for all */
    const char *fixed[2];
    enum source source;
    bool own;
};

/* Values that differ from host to host have `own` at the end; all others are compared as texts. */
static const struct row table[] = {
    /* Launch of daemons: by our agent, all at once, and all from the master. */
    {{"plm_rsh_agent", "plm_ssh_agent"}, "--prtemca", {0}, AGENT, true},
    {{"plm_rsh_no_tree_spawn", "plm_ssh_no_tree_spawn"}, "--prtemca", {"1", "1"}, FIXED, false},
    {{"plm_rsh_num_concurrent", "plm_ssh_num_concurrent"}, "--prtemca", {0}, HOSTS, false},
    /* Keeps host names as we wrote them. 4.1 would cut a.example.com to a; 5.0 would take a
       container's kernel name for a different host. */
    {{"orte_keep_fqdn_hostnames", "prte_keep_fqdn_hostnames"},
     "--prtemca",
     {"1", "1"},
     FIXED,
     false},
    /* 4.1's default encoding of names fails if the kernel name of the master is "my_host". */
    {{"regx", NULL}, NULL, {"naive", NULL}, FIXED, false},
    /* When a paused container resumes, it gets SIGCONT, and mpirun would forward it to its daemons.
       If it does not know them all yet, it gives up the launch. So it forwards no signals. */
    {{"ess_base_forward_signals", NULL}, NULL, {"none", NULL}, FIXED, false},
    {{NULL, "prte_do_not_resolve"}, "--prtemca", {NULL, "0"}, FIXED, false},
    /* Interface and ports of the daemons. 5.0 ignores a network here, so both series get the
       interface's name. One port each, because a range would be opened in full. "Static" ports,
       because "dynamic" ones cannot be opened again for a minute after a job (TIME_WAIT), and a
       relaunch must. */
    {{"oob_tcp_if_include", "prte_if_include"}, "--prtemca", {0}, INTERFACE, true},
    {{"oob_tcp_static_ipv4_ports", "oob_tcp_static_ipv4_ports"}, "--prtemca", {0}, PORT_V4, false},
    {{"oob_tcp_static_ipv6_ports", "oob_tcp_static_ipv6_ports"}, "--prtemca", {0}, PORT_V6, false},
    {{NULL, "ptl_base_if_include"}, "--pmixmca", {NULL, "lo"}, FIXED, false},
    /* Detection of a dead peer; the default takes 480 s. Our own link reports it first and names
       the host: with its limit of 10 s, 12 s pass here after the first unanswered probe. A link
       that recovers in time therefore ends nothing here. */
    {{"oob_tcp_keepalive_time", "oob_tcp_keepalive_time"}, "--prtemca", {0}, ALIVE_TIME, false},
    {{"oob_tcp_keepalive_intvl", "oob_tcp_keepalive_intvl"},
     "--prtemca",
     {0},
     ALIVE_INTERVAL,
     false},
    {{"oob_tcp_keepalive_probes", "oob_tcp_keepalive_probes"},
     "--prtemca",
     {"6", "6"},
     FIXED,
     false},
    /* Transports between ranks. Each host's shims find out whether its ranks may read each other's
       memory (CMA, shm_transport.h). */
    {{"btl", "btl"}, "--mca", {"tcp,self,vader", "tcp,self,sm"}, FIXED, false},
    /* mpirun passes the transport on to the ranks; daemons ignore it. */
    {{"pml", "pml"}, "--mca", {0}, WAY, true},
    {{"btl_vader_backing_directory", "btl_sm_backing_directory"}, "--mca", {0}, SHARED, false},
    {{"btl_vader_single_copy_mechanism", NULL}, "--mca", {"none", NULL}, FIXED, false},
    {{"btl_tcp_if_include", "btl_tcp_if_include"}, "--mca", {0}, NETWORK, true},
    {{"btl_tcp_port_min_v4", "btl_tcp_port_min_v4"}, "--mca", {0}, DATA_FIRST, false},
    {{"btl_tcp_port_range_v4", "btl_tcp_port_range_v4"}, "--mca", {0}, DATA_COUNT, false},
    {{"btl_tcp_port_min_v6", "btl_tcp_port_min_v6"}, "--mca", {0}, DATA_FIRST_V6, false},
    {{"btl_tcp_port_range_v6", "btl_tcp_port_range_v6"}, "--mca", {0}, DATA_COUNT_V6, false},
    {{"mpi_yield_when_idle", "mpi_yield_when_idle"}, "--mca", {"1", "1"}, FIXED, false},
};

/* False, too, where no interface has been chosen yet. */
static bool is_ipv6(const struct openmpi_request *r) {
    const struct net_address *address = &r->interface->address;
    return net_address_is_set(address) && !net_address_is_ipv4(address);
}

/* Returns true if the request does not set ROW. Such a row adds no option, and daemons must not
 * name it. */
static bool is_idle(const struct row *row, const struct openmpi_request *r) {
    if (row->source == SHARED)
        return r->shared == NULL || r->shared[0] == '\0';
    return (row->source == DATA_FIRST_V6 || row->source == DATA_COUNT_V6) && !is_ipv6(r);
}

/* The agent's path alone can be longer than SIZE; add_option() has refused it before. */
static void write_value(const struct row *row, const struct openmpi_request *r, char *value,
                        size_t size) {
    switch (row->source) {
    case FIXED:
        snprintf(value, size, "%s", row->fixed[r->version.series]);
        break;
    case AGENT:
        snprintf(value, size, "%s", r->agent);
        break;
    case HOSTS:
        snprintf(value, size, "%zu", r->cluster->count);
        break;
    case INTERFACE:
        snprintf(value, size, "%s", r->interface->name);
        break;
    case NETWORK:
        /* This parameter does not accept IPv6 networks. */
        if (is_ipv6(r))
            snprintf(value, size, "%s", r->interface->name);
        else
            interface_cidr(r->interface, value);
        break;
    case PORT_V4:
        snprintf(value, size, "%u", (unsigned)r->ports->daemons_v4);
        break;
    case PORT_V6:
        snprintf(value, size, "%u", (unsigned)r->ports->daemons_v6);
        break;
    case DATA_FIRST:
    case DATA_FIRST_V6:
        snprintf(value, size, "%u", (unsigned)r->ports->data);
        break;
    case WAY:
        snprintf(value, size, "%s", r->ucx ? "^cm" : "ob1");
        break;
    case SHARED:
        snprintf(value, size, "%s", r->shared);
        break;
    /* In whole seconds, as the kernel has these limits. */
    case ALIVE_TIME:
        snprintf(value, size, "%d", (int)(r->dead_seconds / 2));
        break;
    case ALIVE_INTERVAL:
        snprintf(value, size, "%d", (int)(r->dead_seconds / 5));
        break;
    case DATA_COUNT:
    case DATA_COUNT_V6:
        snprintf(value, size, "%u", (unsigned)r->ports->data_count);
        break;
    }
}

int openmpi_check_kernel_name(enum openmpi_series series, const char *name, struct error *err) {
    size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (series != OPENMPI_4_1 || letters <= OPENMPI_LETTERS_MAX)
        return 0;
    return error_set(
        err, EXIT_CODE_CONFIG,
        "the first host's kernel host name \"%s\" begins with %zu letters, and Open MPI "
        "4.1 takes %d at most: give that container a shorter host name",
        name, letters, OPENMPI_LETTERS_MAX);
}

/* No blank, quote or other byte that a shell acts on: mpirun writes values into a line for one. */
bool openmpi_is_value(const char *value) {
    return value[0] != '\0' &&
           value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "_.,:^/=+-")] == '\0';
}

static int add_option(const struct row *row, const struct openmpi_request *r,
                      struct openmpi_options *ret, struct error *err) {
    enum openmpi_series series = r->version.series;
    struct openmpi_option *option = &ret->items[ret->count];
    if (is_idle(row, r))
        return 0;
    *option = (struct openmpi_option){
        .flag = series == OPENMPI_4_1 ? "--mca" : row->flag_5,
        .own = row->own,
        .on_daemon = series == OPENMPI_4_1 || strcmp(row->flag_5, "--mca") != 0,
    };
    snprintf(option->name, sizeof(option->name), "%s", row->name[series]);
    if (row->source == AGENT && strlen(r->agent) >= sizeof(option->value))
        return error_set(err, EXIT_CODE_CONFIG, "the agent's path is too long: %.64s...", r->agent);
    write_value(row, r, option->value, sizeof(option->value));
    if (!openmpi_is_value(option->value))
        return error_set(err, EXIT_CODE_CONFIG,
                         "\"%s\" cannot be the value of Open MPI's %s: only letters, digits and "
                         "_.,:^/=+- are safe there",
                         option->value, option->name);
    ret->count++;
    return 0;
}

/* Writes WANTED, or USUAL if it is empty. Modifiers follow a colon; they are separated by commas
 * in 4.1 and by colons in 5.0, whichever the user has written. */
static void write_place(const char *wanted, const char *usual, enum openmpi_series series,
                        char ret[CUSTOM_OPTIONS_PLACE_SIZE]) {
    snprintf(ret, CUSTOM_OPTIONS_PLACE_SIZE, "%s", wanted[0] != '\0' ? wanted : usual);
    /* The text before the first colon is the policy, and has no modifiers. */
    char *at = strchr(ret, ':');
    while (at != NULL && (at = strpbrk(at + 1, ",:")) != NULL)
        *at = series == OPENMPI_4_1 ? ',' : ':';
}

/* By default, as many ranks as a host has slots, host by host, without binding; the user may choose
 * otherwise. */
static int choose_places(const struct openmpi_request *r, struct openmpi_options *ret,
                         struct error *err) {
    struct custom_options custom = {0};
    int result = r->custom != NULL ? custom_options_parse(r->custom, &custom, err) : 0;
    write_place(custom.map_by, "slot", r->version.series, ret->map_by);
    write_place(custom.bind_to, "none", r->version.series, ret->bind_to);
    custom_options_done(&custom);
    return result;
}

/* Pure: the result depends on the request alone. */
int openmpi_options(const struct openmpi_request *request, struct openmpi_options *ret,
                    struct error *err) {
    ret->count = 0;
    if (choose_places(request, ret, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].name[request->version.series] != NULL &&
            add_option(&table[i], request, ret, err) != 0)
            return -1;
    return 0;
}

/* --- the command line ------------------------------------------------------------------------ */

/* Adds the fixed words. Daemons stay attached to their agents (--leave-session-attached), so that
 * an agent that exits with an error ends mpirun at once. */
static int add_start(const struct openmpi_request *r, const struct openmpi_options *options,
                     struct argv *ret, struct error *err) {
    if (argv_add(ret, r->mpirun, err) != 0 || argv_add(ret, "--allow-run-as-root", err) != 0)
        return -1;
    if (r->version.series == OPENMPI_4_1 && argv_add(ret, "--noprefix", err) != 0)
        return -1;
    char ranks[24];
    snprintf(ranks, sizeof(ranks), "%zu", cluster_ranks(r->cluster));
    const char *const words[] = {"--leave-session-attached",
                                 "--hostfile",
                                 r->hostfile,
                                 "-np",
                                 ranks,
                                 "--map-by",
                                 options->map_by,
                                 "--bind-to",
                                 options->bind_to,
                                 NULL};
    if (argv_add_all(ret, words, err) != 0)
        return -1;
    const char *const directory[] = {"--wdir", r->directory, NULL};
    return r->directory != NULL ? argv_add_all(ret, directory, err) : 0;
}

/* In the order of the table, each as three words. */
static int add_options(const struct openmpi_options *options, struct argv *ret, struct error *err) {
    for (size_t i = 0; i < options->count; i++) {
        const struct openmpi_option *o = &options->items[i];
        const char *const words[] = {o->flag, o->name, o->value, NULL};
        if (argv_add_all(ret, words, err) != 0)
            return -1;
    }
    return 0;
}

int openmpi_command(const struct openmpi_request *request, struct argv *ret, struct error *err) {
    struct openmpi_options options;
    if (openmpi_options(request, &options, err) != 0 ||
        add_start(request, &options, ret, err) != 0 || add_options(&options, ret, err) != 0)
        return -1;
    /* Names alone: mpirun passes on the values that they have in its own environment. */
    for (const char *const *name = request->exports; name != NULL && *name != NULL; name++)
        if (argv_add(ret, "-x", err) != 0 || argv_add(ret, *name, err) != 0)
            return -1;
    const char *const shim[] = {request->ringmaster, "rank", NULL};
    return argv_add_all(ret, shim, err);
}

/* Hosts without ranks, lost ones and spares, are left out: cluster_order() has the others in the
 * order of their ranks. */
int openmpi_hostfile(const struct cluster *cluster, struct buf *ret, struct error *err) {
    char node[ADDRESSES_NODE_SIZE];
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(cluster, order);
    for (size_t i = 0; i < count; i++) {
        addresses_node(cluster, order[i], node);
        if (buf_printf(ret, err, "%s slots=%u\n", node, cluster->hosts[order[i]].slots) != 0)
            return -1;
    }
    return 0;
}

/* The words may be anywhere in LINE, after the name of a host. */
bool openmpi_is_noise(const char *line) {
    static const char *const noise[] = {
        "sh: Warning: setpgid(",
        "local probe returned unhandled shell:", /* printed for a user without a name; we use no
                                                    shell */
    };
    for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
        if (strstr(line, noise[i]) != NULL)
            return true;
    return false;
}
