#include "entrypoint/mpi/daemon_command.h"

#include "common/str.h"
#include "common/table.h"
#include "entrypoint/mpi/daemon_uri.h"
#include "entrypoint/mpi/shell_words.h"

#include <stdbool.h>
#include <string.h>

/* The command comes from mpirun, by way of its agent and the master, and is treated as input from a
 * stranger. Nothing of it is run. What is run is rebuilt. The path of the daemon is this host's
 * own. Values of parameters are known to this host, or match a narrow form. The address of mpirun
 * is made of this host's own facts.
 *
 * The steps are these: split the line into words (shell_words.c), check the name of the daemon,
 * take each parameter, check that nothing is missing, and add the address. A word that is not
 * understood is a refusal that names it, never skipped. Forms of a newer Open MPI therefore fail at
 * once, with a message, and not later. */

/* More than either series sends. */
enum { SEEN_MAX = 64 };

/* Contents of one request, as far as it has been parsed. */
struct parsed_command {
    const struct daemon_command *gate; /* this host's facts; borrowed */
    /* Texts point into the words of the request. */
    const char *jobid; /* 4.1: ess_base_jobid, 5.0: ess_base_nspace */
    const char *uri;
    int64_t vpid;
    int64_t daemons;
    const char *seen[SEEN_MAX]; /* names of the parameters so far: each may occur once */
    size_t seen_count;
    bool ess; /* both: the parameter was there */
    bool regex;
    struct argv argv;
};

static int refuse(const char *word, const char *why, struct error *err) {
    return shell_words_refuse(word, strlen(word), why, err);
}

/* --- parameters that mpirun generates -------------------------------------------------------- */

static bool is_all(const char *text, const char *alphabet) {
    return text[0] != '\0' && text[strspn(text, alphabet)] == '\0';
}

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* mpirun always asks for "env". 4.1 is given that; for 5.0, check() writes another value. */
static int take_ess(struct parsed_command *r, const char *value, struct error *err) {
    r->ess = true;
    return strcmp(value, "env") == 0 ? 0 : refuse(value, "is not ess's value", err);
}

/* A number of at most 32 bits, in 4.1. */
static int take_jobid(struct parsed_command *r, const char *value, struct error *err) {
    r->jobid = value;
    bool good = is_all(value, DIGITS) && strlen(value) <= 10;
    return good ? 0 : refuse(value, "is not a job's number", err);
}

/* Takes prterun-HOSTNAME-PID@0. HOSTNAME may contain '-'. */
static int take_nspace(struct parsed_command *r, const char *value, struct error *err) {
    static const char start[] = "prterun-";
    r->jobid = value;
    const char *last = strrchr(value, '-');
    const char *name = value + sizeof(start) - 1;
    if (!str_starts_with(value, start) || last <= name || strlen(value) > 300)
        return refuse(value, "is not a job's name", err);
    size_t digits = strspn(last + 1, DIGITS);
    size_t letters = strspn(name, LOWER UPPER DIGITS "._-");
    bool good = digits >= 1 && digits <= 10 && strcmp(last + 1 + digits, "@0") == 0 &&
                name + letters >= last;
    return good ? 0 : refuse(value, "is not a job's name", err);
}

/* At most five digits: numbers of daemons, of which there is one on each host. */
static int take_number(const char *value, int64_t *ret, struct error *err) {
    bool good = is_all(value, DIGITS) && strlen(value) <= 5;
    if (!good || str_parse_int(value, 0, 99999, ret, NULL) != 0)
        return refuse(value, "is not a small number", err);
    return 0;
}

/* The number of the daemon to be started. */
static int take_vpid(struct parsed_command *r, const char *value, struct error *err) {
    return take_number(value, &r->vpid, err);
}

/* The number of all, mpirun included. */
static int take_daemons(struct parsed_command *r, const char *value, struct error *err) {
    return take_number(value, &r->daemons, err);
}

/* An expression of 4.1 for all nodes. Its brackets and commas mean something to Open MPI alone. */
static int take_regex(struct parsed_command *r, const char *value, struct error *err) {
    r->regex = true;
    bool good = is_all(value, LOWER UPPER DIGITS "_.,:@()[]-");
    return good ? 0 : refuse(value, "is not a host expression", err);
}

/* Parsed after all others, because it repeats the job's number, which may follow it. */
static int take_uri(struct parsed_command *r, const char *value, struct error *err) {
    (void)err;
    r->uri = value;
    return 0;
}

/* Names of components that mpirun was built with; which ones is the image's matter. */
static int take_components(struct parsed_command *r, const char *value, struct error *err) {
    (void)r;
    return is_all(value, LOWER DIGITS "_,") ? 0 : refuse(value, "is not a list of names", err);
}

/* OWN is what this host would give to mpirun for the same job. */
static int take_policy(const char *value, const char *own, struct error *err) {
    return strcmp(value, own) == 0 ? 0 : refuse(value, "is not this parameter's value", err);
}

/* 4.1 alone tells its daemons how ranks are placed. */
static int take_binding(struct parsed_command *r, const char *value, struct error *err) {
    return take_policy(value, r->gate->options->bind_to, err);
}

static int take_mapping(struct parsed_command *r, const char *value, struct error *err) {
    return take_policy(value, r->gate->options->map_by, err);
}

/* Parameters that mpirun generates, by series, with their only value or the function that parses
 * it. */
struct made {
    const char *name;
    const char *value; /* the only value; NULL: call `take` */
    int (*take)(struct parsed_command *r, const char *value, struct error *err);
    bool drop; /* not passed on, because we choose how the daemon runs */
    bool late; /* written last, from parsed parts */
};

/* In the form of 4.1.4. */
static const struct made made_4[] = {
    {"ess", NULL, take_ess, false, false},
    {"ess_base_jobid", NULL, take_jobid, false, false},
    {"ess_base_vpid", NULL, take_vpid, false, false},
    {"ess_base_num_procs", NULL, take_daemons, false, false},
    {"orte_node_regex", NULL, take_regex, false, false},
    {"orte_hnp_uri", NULL, take_uri, false, true},
    {"orte_leave_session_attached", "1", NULL, true, false},
    {"plm", "rsh", NULL, false, false},
    {"pmix", "^s1,s2,cray,isolated", NULL, false, false},
    {"hwloc_base_binding_policy", NULL, take_binding, false, false},
    {"rmaps_base_mapping_policy", NULL, take_mapping, false, false},
    {NULL, NULL, NULL, false, false},
};

/* In the form of 5.0.7. */
static const struct made made_5[] = {
    {"ess", NULL, take_ess, true, false},
    {"ess_base_nspace", NULL, take_nspace, false, false},
    {"ess_base_vpid", NULL, take_vpid, false, false},
    {"ess_base_num_procs", NULL, take_daemons, false, false},
    {"prte_hnp_uri", NULL, take_uri, false, true},
    {"PREFIXES", NULL, take_components, false, false},
    {"plm", "ssh", NULL, false, false},
    {"pmix_session_server", "1", NULL, false, false},
    {NULL, NULL, NULL, false, false},
};

/* Returns NULL for a name that mpirun does not generate: then it must be one of our own options. */
static const struct made *find_made(enum openmpi_series series, const char *name) {
    const struct made *m = series == OPENMPI_4_1 ? made_4 : made_5;
    while (m->name != NULL && strcmp(m->name, name) != 0)
        m++;
    return m->name != NULL ? m : NULL;
}

/* --- one parameter --------------------------------------------------------------------------- */

/* Copies three words to the end of the daemon's. */
static int add_parameter(struct parsed_command *r, const char *flag, const char *name,
                         const char *value, struct error *err) {
    const char *const words[] = {flag, name, value, NULL};
    return argv_add_all(&r->argv, words, err);
}

/* The value is passed on as it came, once it was checked, unless the row says otherwise. */
static int take_made(struct parsed_command *r, const struct made *made, const char *flag,
                     const char *value, struct error *err) {
    if (made->value != NULL && strcmp(made->value, value) != 0)
        return refuse(value, "is not this parameter's value", err);
    if (made->take != NULL && made->take(r, value, err) != 0)
        return -1;
    return made->drop || made->late ? 0 : add_parameter(r, flag, made->name, value, err);
}

/* Checks a copy of a parameter that the master's ringmaster gave to mpirun: it must equal the one
 * that this host computed. */
static int take_option(struct parsed_command *r, const char *flag, const char *name,
                       const char *value, struct error *err) {
    for (size_t i = 0; i < r->gate->options->count; i++) {
        const struct openmpi_option *o = &r->gate->options->items[i];
        if (!o->on_daemon || strcmp(o->name, name) != 0 || strcmp(o->flag, flag) != 0)
            continue;
        bool good = o->own ? openmpi_is_value(value) : strcmp(o->value, value) == 0;
        return good ? add_parameter(r, flag, name, o->value, err)
                    : refuse(value, "is not the value that this job gives to it", err);
    }
    return refuse(name, "is not a parameter of this job", err);
}

/* A name may come once: of two values it would not be clear which one the daemon takes. */
static int take_parameter(struct parsed_command *r, const char *flag, const char *name,
                          const char *value, struct error *err) {
    for (size_t i = 0; i < r->seen_count; i++)
        if (strcmp(r->seen[i], name) == 0)
            return refuse(name, "comes twice", err);
    if (r->seen_count == SEEN_MAX)
        return refuse(name, "is one parameter too many", err);
    r->seen[r->seen_count++] = name;
    const struct made *made = find_made(r->gate->series, name);
    if (made != NULL && strcmp(flag, "--pmixmca") != 0)
        return take_made(r, made, flag, value, err);
    return take_option(r, flag, name, value, err);
}

/* The flag in the form that we write, or NULL if WORD is not a flag followed by a name and a value.
 */
static const char *parameter_flag(enum openmpi_series series, const char *word) {
    static const char *const flags_5[] = {"--prtemca", "--pmixmca"};
    if (series == OPENMPI_4_1)
        return strcmp(word, "-mca") == 0 || strcmp(word, "--mca") == 0 ? "--mca" : NULL;
    const size_t flag = TABLE_INDEX(flags_5, word);
    return flag < TABLE_COUNT(flags_5) ? flags_5[flag] : NULL;
}

/* Both flags here are dropped: how the daemon runs is decided in check(). */
static int take_switch(struct parsed_command *r, const char *word, struct error *err) {
    if (strcmp(word, "--daemonize") == 0 || strcmp(word, "--leave-session-attached") == 0)
        return 0;
    if (r->gate->series == OPENMPI_5_0 && strcmp(word, "--allow-run-as-root") == 0)
        return argv_add(&r->argv, word, err);
    return refuse(word, "is not a flag that this job's daemons take", err);
}

/* Word 0 is the daemon. A parameter takes three words: flag, name and value. */
static int take_words(struct parsed_command *r, const struct shell_words *words,
                      struct error *err) {
    for (size_t i = 1; i < words->count; i++) {
        const char *flag = parameter_flag(r->gate->series, words->items[i]);
        if (flag == NULL) {
            if (take_switch(r, words->items[i], err) != 0)
                return -1;
            continue;
        }
        if (i + 2 >= words->count)
            return refuse(words->items[i], "has no name or no value", err);
        if (take_parameter(r, flag, words->items[i + 1], words->items[i + 2], err) != 0)
            return -1;
        i += 2;
    }
    return 0;
}

/* --- whole request --------------------------------------------------------------------------- */

/* Only the last part of the path counts, as the path itself is replaced by this host's own. */
static int check_daemon(const struct daemon_command *gate, const char *word, struct error *err) {
    const char *slash = strrchr(word, '/');
    const char *name = slash != NULL ? slash + 1 : word;
    if (strcmp(name, openmpi_daemon(gate->series)) != 0)
        return refuse(word, "is not the daemon of this job's Open MPI", err);
    return 0;
}

/* Daemon 0 is mpirun itself, so no request names it. */
static int check_complete(const struct parsed_command *r, struct error *err) {
    if (!r->ess || r->jobid == NULL || r->uri == NULL || r->vpid == 0 || r->daemons == 0 ||
        (r->gate->series == OPENMPI_4_1 && !r->regex))
        return shell_words_refuse("", 0, "lacks one of the words that every daemon gets", err);
    /* There is one daemon a host, and one more if mpirun did not recognise the master as its own
     * host. */
    int64_t hosts = (int64_t)r->gate->hosts;
    if (r->daemons < hosts || r->daemons > hosts + 1 || r->vpid >= r->daemons)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "launch request refused: daemon %lld of %lld for %zu hosts",
                         (long long)r->vpid, (long long)r->daemons, r->gate->hosts);
    return 0;
}

/* Adds the address of mpirun, built from our own facts and the number of bits in the request. */
static int add_uri(struct parsed_command *r, struct error *err) {
    const struct daemon_command *gate = r->gate;
    bool with_bits = gate->series == OPENMPI_5_0;
    unsigned bits = 0;
    if (daemon_uri_check(r->uri, r->jobid, &gate->master, gate->port, with_bits ? &bits : NULL,
                         err) != 0)
        return -1;
    char master[NET_ADDRESS_TEXT];
    net_address_text(&gate->master, master);
    bool v4 = net_address_is_ipv4(&gate->master);
    const char *open = v4 ? "tcp://" : "tcp6://[", *close = v4 ? "" : "]";
    const char *const start[] = {with_bits ? "--prtemca" : "--mca",
                                 with_bits ? "prte_hnp_uri" : "orte_hnp_uri", NULL};
    if (argv_add_all(&r->argv, start, err) != 0)
        return -1;
    if (with_bits)
        return argv_printf(&r->argv, err, "%s.0;%s%s%s:%u:%u", r->jobid, open, master, close,
                           (unsigned)gate->port, bits);
    return argv_printf(&r->argv, err, "%s.0;%s%s%s:%u", r->jobid, open, master, close,
                       (unsigned)gate->port);
}

static int check(struct parsed_command *r, const struct shell_words *words, struct error *err) {
    if (check_daemon(r->gate, words->items[0], err) != 0 ||
        argv_add(&r->argv, r->gate->daemon, err) != 0)
        return -1;
    /* Both series run the daemon attached, so that it is one process and our direct child. */
    if (r->gate->series == OPENMPI_5_0 &&
        (argv_add(&r->argv, "--leave-session-attached", err) != 0 ||
         add_parameter(r, "--prtemca", "ess", OPENMPI_5_0_ESS, err) != 0))
        return -1;
    if (take_words(r, words, err) != 0 || check_complete(r, err) != 0)
        return -1;
    return add_uri(r, err);
}

/* RET is set on success alone. */
int daemon_command_check(const struct daemon_command *gate, const char *command, size_t size,
                         struct argv *ret, struct error *err) {
    cleanup_shell_words struct shell_words words = {0};
    struct parsed_command r = {.gate = gate};
    if (shell_words_split(command, size, &words, err) != 0)
        return -1;
    if (check(&r, &words, err) != 0) {
        argv_done(&r.argv);
        return -1;
    }
    *ret = r.argv;
    return 0;
}

/* The words are joined as mpirun would hand them to ssh, which also joins with blanks. */
int daemon_command_join(const char *const *words, struct buf *ret, struct error *err) {
    for (size_t i = 0; words[i] != NULL; i++)
        if ((i > 0 && buf_add(ret, " ", 1, err) != 0) || buf_add_text(ret, words[i], err) != 0)
            return -1;
    return 0;
}
