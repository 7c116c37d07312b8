#include "entrypoint/mpi/custom_options.h"

#include "common/cleanup.h"
#include "common/str.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The text is what a user of SageMaker would give to mpirun. It is taken apart here, and mpirun
 * never sees the text itself. Each option that is known becomes a variable of ranks, a placement,
 * or nothing. Anything else is an error that names the word, so that an option is never lost in
 * silence.
 *
 * Variables and parameters reach ranks by their environment, in which Open MPI looks for
 * OMPI_MCA_NAME. A user who may set this text may run any program in the ranks anyway. The refusals
 * keep such settings from breaking the job by accident, or from reaching beyond the ranks. */

/* Errors begin with it, as users know the text by this name. */
static const char key[] = "the hyperparameter sagemaker_mpi_custom_mpi_options";

/* Also after a failure, and for options that are zeroed. */
void custom_options_done(struct custom_options *c) {
    argv_done(&c->environment);
    argv_done(&c->ignored);
}

/* --- words ----------------------------------------------------------------------------------- */

/* Copies the next word at *AT to WORD, which has room for the whole text. Returns its length, or -1
 * if a quote is not closed. In single quotes a backslash stands for itself. */
static long next_word(const char **at, char *word) {
    char quote = '\0';
    size_t size = 0;
    for (; **at != '\0' && (quote != '\0' || !isspace((unsigned char)**at)); (*at)++) {
        if (**at == quote) {
            quote = '\0';
        } else if (quote == '\0' && (**at == '\'' || **at == '"')) {
            quote = **at;
        } else {
            if (**at == '\\' && quote != '\'' && (*at)[1] != '\0')
                (*at)++;
            word[size++] = **at;
        }
    }
    word[size] = '\0';
    return quote == '\0' ? (long)size : -1;
}

/* Splits as a shell would, with quotes and backslashes, but expands nothing. WORD has room for the
 * whole text, so no word is too long. */
static int split(const char *text, struct argv *ret, struct error *err) {
    cleanup_free char *word = malloc(strlen(text) + 1);
    if (word == NULL)
        return error_no_memory(err, key);
    for (;;) {
        text += strspn(text, " \t\r\n\v\f");
        if (*text == '\0')
            return 0;
        if (next_word(&text, word) < 0)
            return error_set(err, EXIT_CODE_CONFIG, "%s: a quote is not closed", key);
        if (argv_add(ret, word, err) != 0)
            return -1;
    }
}

/* --- checks of a word ------------------------------------------------------------------------ */

/* Letters, digits and underscores, not beginning with a digit: names of variables, and of
 * parameters. */
static bool is_identifier(const char *name, size_t size) {
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return size > 0 && good >= size && !isdigit((unsigned char)name[0]);
}

/* Frameworks and layers that run in ranks, and not those of daemons (plm, oob, ess, ras, rmaps
 * ...). A name is that of a framework, or begins with it and an underscore. */
static bool is_of_ranks(const char *parameter) {
    static const char *const known[] = {
        "btl",  "pml",   "mtl",  "coll",           "mpi",   "opal", "io",
        "osc",  "op",    "topo", "hwloc_base_mem", "mpool", "fs",   "rcache",
        "smsc", "sshmem"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t size = strlen(known[i]);
        if (strncmp(parameter, known[i], size) == 0 &&
            (parameter[size] == '\0' || parameter[size] == '_'))
            return true;
    }
    return false;
}

/* LIST ends with NULL. WORD is not terminated at SIZE. */
static bool is_one_of(const char *word, size_t size, const char *const *list) {
    for (; *list != NULL; list++)
        if (strlen(*list) == size && memcmp(*list, word, size) == 0)
            return true;
    return false;
}

/* --- one option ------------------------------------------------------------------------------ */

/* Shows at most 64 bytes of WORD. */
static int refuse(const char *word, const char *why, struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG, "%s: \"%.64s\" %s", key, word, why);
}

/* Checks the value of the variable or parameter NAME. Control characters would garble logs and
 * tables in which values are shown. A limit on each keeps the environment below that of the kernel.
 */
static int check_value(const char *name, const char *value, struct error *err) {
    if (strlen(value) > CUSTOM_OPTIONS_VALUE_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: the value of \"%.*s\" has more than %d bytes",
                         key, (int)strcspn(name, "="), name, CUSTOM_OPTIONS_VALUE_MAX);
    for (; *value != '\0'; value++)
        if ((unsigned char)*value < ' ' || *value == 0x7f)
            return error_set(err, EXIT_CODE_CONFIG,
                             "%s: the value of \"%.*s\" contains a control character", key,
                             (int)strcspn(name, "="), name);
    return 0;
}

/* Bytes of parameter values, which are lists of names, addresses or numbers, or paths. Bytes of
 * UTF-8 are for paths. */
static bool is_of_values(char c) {
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || strchr(",.:;/_+-=%@~*#[]", c);
}

/* A leading '^' applies to the whole list and means that its components are excluded. It may stand
 * nowhere else. */
static int check_parameter(const char *name, const char *value, struct error *err) {
    if (check_value(name, value, err) != 0)
        return -1;
    for (const char *at = value + (*value == '^'); *at != '\0'; at++)
        if (!is_of_values(*at))
            return error_set(
                err, EXIT_CODE_CONFIG,
                "%s: the value of \"%s\" has '%c' in it, which no value of a parameter "
                "has there",
                key, name, *at);
    return 0;
}

/* A parameter becomes a variable of ranks, as an option on mpirun's command line would. */
static int add_parameter(const char *name, const char *value, struct custom_options *ret,
                         struct error *err) {
    if (!is_identifier(name, strlen(name)) || !is_of_ranks(name))
        return refuse(name,
                      "is no parameter of ranks; how daemons start and find each other is "
                      "ringmaster's",
                      err);
    return check_parameter(name, value, err) == 0
               ? argv_printf(&ret->environment, err, "OMPI_MCA_%s=%s", name, value)
               : -1;
}

/* Prefixes of variables that an option may not set; a prefix that ends with '=' is a whole name.
 * They include none of the variables that users set for NCCL, libfabric, OpenMP or the loader's
 * path. */
static const struct {
    const char *const *names;
    const char *why;
} refused[] = {
    {(const char *const[]){"LD_PRELOAD=", "LD_AUDIT=", "GCONV_PATH=", "BASH_ENV=", "ENV=", NULL},
     "would bring other code into every rank; where that is meant, the container's own environment "
     "is the place"},
    {(const char *const[]){"RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=", NULL},
     "says which rank it is, which differs from rank to rank"},
    {(const char *const[]){"MASTER_ADDR=", "MASTER_PORT=", NULL},
     "says where ranks meet, which is ringmaster's to say (RINGMASTER_PORT moves the port)"},
    {(const char *const[]){
         "CURRENT_HOST=", "SM_CURRENT_", "SM_HOST", "SM_MASTER_", "SM_INSTANCE_GROUPS",
         "SM_DISTRIBUTION_INSTANCE_GROUPS=", "SM_RESOURCE_CONFIG=", "SM_TRAINING_ENV=", NULL},
     "says on which host a rank is and which others there are, which is ringmaster's to say"},
};

/* VARIABLE is NAME=VALUE, so a prefix with `=` matches a whole name only. */
static int check_name(const char *variable, struct error *err) {
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        for (const char *const *name = refused[i].names; *name != NULL; name++)
            if (str_starts_with(variable, *name))
                return refuse(variable, refused[i].why, err);
    return 0;
}

/* -x NAME=VALUE sets a variable. -x NAME alone would pass on the container's own, which ranks have
 * in any case, so it has no effect. */
static int add_variable(const char *word, struct custom_options *ret, struct error *err) {
    static const char parameter[] = "OMPI_MCA_";
    size_t size = strcspn(word, "=");
    if (!is_identifier(word, size))
        return refuse(word, "is not a variable that -x accepts", err);
    if (str_starts_with(word, parameter) && word[size] == '=') {
        cleanup_free char *name = strndup(word + strlen(parameter), size - strlen(parameter));
        return name != NULL ? add_parameter(name, word + size + 1, ret, err)
                            : error_no_memory(err, key);
    }
    /* Variables with these prefixes tell a process its job and its rank. */
    if (str_starts_with(word, "OMPI_") || str_starts_with(word, "PMIX_") ||
        str_starts_with(word, "PRTE_") || str_starts_with(word, "RINGMASTER_"))
        return refuse(word, "is a variable of ringmaster's or of Open MPI's own", err);
    if (word[size] != '=')
        return argv_add(&ret->ignored, word, err);
    if (check_name(word, err) != 0 || check_value(word, word + size + 1, err) != 0)
        return -1;
    return argv_add(&ret->environment, word, err);
}

/* Accepted values of --bind-to or --map-by. The lists end with NULL. */
struct places {
    const char *const *policies;
    const char *const *modifiers; /* case does not matter, as in Open MPI */
    bool cores;                   /* whether PE=N (cores per rank) is accepted, too */
};

/* Returns true for PE=N with N from 1 to 9999. BEFORE is the length of "PE=". */
static bool is_cores(const char *word, size_t size) {
    enum { BEFORE = 3, DIGITS_MAX = 4 };
    size_t digits = size > BEFORE ? strspn(word + BEFORE, "0123456789") : 0;
    return digits > 0 && digits <= DIGITS_MAX && BEFORE + digits == size &&
           strncasecmp(word, "PE=", BEFORE) == 0 && word[BEFORE] != '0';
}

/* WORD is not terminated at SIZE. */
static bool is_modifier(const char *word, size_t size, const struct places *places) {
    for (const char *const *known = places->modifiers; *known != NULL; known++)
        if (strlen(*known) == size && strncasecmp(*known, word, size) == 0)
            return true;
    return places->cores && is_cores(word, size);
}

/* Accepts POLICY or POLICY:MODIFIER[,MODIFIER ...]; Open MPI 5.0 separates modifiers by colons. RET
 * is unchanged if the value is refused. */
static int take_place(const char *value, const struct places *places,
                      char ret[CUSTOM_OPTIONS_PLACE_SIZE], struct error *err) {
    size_t size = strcspn(value, ":");
    bool good =
        is_one_of(value, size, places->policies) && strlen(value) < CUSTOM_OPTIONS_PLACE_SIZE;
    for (const char *at = value + size; good && *at != '\0'; at += size) {
        at++;
        size = strcspn(at, ",:");
        good = is_modifier(at, size, places);
    }
    if (!good)
        return refuse(value, "is not a valid placement of a host's ranks", err);
    memcpy(ret, value, strlen(value) + 1);
    return 0;
}

/* --- table of options ------------------------------------------------------------------------ */

/* NOTHING stands for options about mpirun's own output, which is not what ranks print. */
enum kind { VARIABLE, NCCL_DEBUG, PARAMETER, BIND, MAP, NOTHING, NOTHING_WITH_VALUE };

static const struct {
    const char *name; /* after one or two dashes */
    enum kind kind;
    int values; /* words that follow it, unless its value is in the same word */
} known[] = {
    {"x", VARIABLE, 1},
    {"NCCL_DEBUG", NCCL_DEBUG, 1},
    {"mca", PARAMETER, 2},
    {"gmca", PARAMETER, 2},
    {"bind-to", BIND, 1},
    {"map-by", MAP, 1},
    {"v", NOTHING, 0},
    {"verbose", NOTHING, 0},
    {"q", NOTHING, 0},
    {"quiet", NOTHING, 0},
    {"tag-output", NOTHING, 0},
    {"timestamp-output", NOTHING, 0},
    {"display-map", NOTHING, 0},
    {"display-allocation", NOTHING, 0},
    {"report-bindings", NOTHING, 0},
    {"allow-run-as-root", NOTHING, 0},
    {"output-filename", NOTHING_WITH_VALUE, 1},
};

/* VALUES are the words that belong to the option; there are as many as the table says. */
static int take(enum kind kind, const char *word, char *const *values, struct custom_options *ret,
                struct error *err) {
    static const char *const binds[] = {"none",    "hwthread", "core", "l1cache", "l2cache",
                                        "l3cache", "socket",   "numa", NULL};
    static const char *const bind_more[] = {"overload-allowed", "if-supported", NULL};
    static const struct places bind = {binds, bind_more, false};
    static const char *const maps[] = {"slot",    "hwthread", "core", "l1cache", "l2cache",
                                       "l3cache", "socket",   "numa", NULL};
    static const char *const map_more[] = {"oversubscribe", "nooversubscribe", NULL};
    static const struct places map = {maps, map_more, true};
    /* What has no effect is kept by name, so that it can be logged. */
    switch (kind) {
    case VARIABLE:
        return add_variable(values[0], ret, err);
    case NCCL_DEBUG:
        return check_value("NCCL_DEBUG", values[0], err) == 0
                   ? argv_printf(&ret->environment, err, "NCCL_DEBUG=%s", values[0])
                   : -1;
    case PARAMETER:
        return add_parameter(values[0], values[1], ret, err);
    case BIND:
        return take_place(values[0], &bind, ret->bind_to, err);
    case MAP:
        return take_place(values[0], &map, ret->map_by, err);
    default:
        return argv_add(&ret->ignored, word, err);
    }
}

/* Takes the option at WORDS[*AT], with NAME=VALUE in the same word or the next, and moves *AT past
 * it. A word that is no option is refused, as mpirun would take it for the program. */
static int take_option(const struct argv *words, size_t *at, struct custom_options *ret,
                       struct error *err) {
    char *word = words->items[(*at)++];
    const char *name = word + strspn(word, "-");
    size_t size = strcspn(name, "=");
    size_t dashes = (size_t)(name - word);
    for (size_t i = 0; dashes >= 1 && dashes <= 2 && i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].name) != size || memcmp(known[i].name, name, size) != 0)
            continue;
        /* NAME=VALUE in one word, for options with a single value. */
        bool joined = name[size] == '=' && known[i].values == 1;
        char *value = word + dashes + size + 1;
        size_t more = joined ? 0 : (size_t)known[i].values;
        /* "-v=1", say: no option of the table. */
        if (name[size] == '=' && !joined)
            break;
        if (*at + more > words->count)
            return refuse(word, "has no value", err);
        char *const *values = joined ? &value : words->items + *at;
        *at += more;
        return take(known[i].kind, word, values, ret, err);
    }
    return refuse(word,
                  "is no option that ringmaster passes on (--help of mpirun has many that "
                  "choose hosts or start daemons, which is ringmaster's part)",
                  err);
}

/* On failure RET is filled in part, and custom_options_done() frees it as after success. */
int custom_options_parse(const char *text, struct custom_options *ret, struct error *err) {
    cleanup_argv struct argv words = {0};
    *ret = (struct custom_options){0};
    if (split(text, &words, err) != 0)
        return -1;
    for (size_t at = 0; at < words.count;)
        if (take_option(&words, &at, ret, err) != 0)
            return -1;
    return 0;
}

/* The page and the parser share one table, so that the page cannot miss an option. */
int custom_options_page(struct buf *ret, struct error *err) {
    /* Words for the page, by kind of option. */
    static const char *const effects[] = {
        [VARIABLE] = "sets a variable of every rank",
        [NCCL_DEBUG] = "sets NCCL_DEBUG of every rank",
        [PARAMETER] = "sets a parameter of the libraries that ranks load",
        [BIND] = "binds ranks within a host",
        [MAP] = "places ranks within a host",
        [NOTHING] = "accepted, without effect",
        [NOTHING_WITH_VALUE] = "accepted, without effect",
    };
    static const char *const values[] = {"", " VALUE", " NAME VALUE"};
    if (buf_add_text(ret, "| option | effect |\n| --- | --- |\n", err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (buf_printf(ret, err, "| `-%s%s%s` | %s |\n", strlen(known[i].name) > 1 ? "-" : "",
                       known[i].name, values[known[i].values], effects[known[i].kind]) != 0)
            return -1;
    return 0;
}
