#include "entrypoint/job/settings.h"

#include "common/json/json.h"
#include "common/run_id.h"
#include "common/signal_name.h"
#include "common/str.h"
#include "common/system/progress.h"
#include "common/table.h"
#include "common/text/nearest.h"
#include "entrypoint/job/cluster/platform_table.h"
#include "entrypoint/job/ports.h"
#include "entrypoint/job/service_variables.h"
#include "entrypoint/job/stop_signals.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

/* One table of rows (settings.def) does everything: defaults, parsing, the help, the reference page
 * and the JSON of a plan. A row's kind says how its text becomes a value; most kinds have a type of
 * their own in struct settings, at the row's offset. A kind thus appears in each switch below, and
 * in page_value().
 *
 * The environment is walked once, variable by variable. A name with RINGMASTER_ that has no row is
 * an error with a suggestion, as a misspelt setting would otherwise be silently without effect.
 * Kubernetes and docker make such names by themselves for services called ringmaster, and these are
 * only a warning.
 *
 * Texts are borrowed from the environment and copied nowhere. Settings that depend on each other
 * are checked later (job.c). */

enum kind {
    TEXT,     /* const char *, borrowed from the environment; NULL: not set */
    SECRET,   /* the same, and never shown */
    NUMBER,   /* int64_t, within the row's bounds */
    SWITCH,   /* bool: 0 or 1 */
    LOGS,     /* enum settings_logs */
    FORM,     /* enum log_form */
    CODES,    /* const char *: exit codes and ranges of them (settings_has_code) */
    PLATFORM, /* const char *: a name of platform_table.c, or "none" */
    LAUNCHER, /* enum settings_launcher */
    EFA,      /* enum settings_efa */
    SIGNAL,   /* int, by stop_signals.c */
    WARNING   /* struct stop_warning, likewise */
};

struct row {
    const char *name;
    enum kind kind;
    size_t offset;              /* in struct settings, of a member with the kind's type */
    int64_t min, max, fallback; /* NUMBER; SWITCH uses only `fallback` */
    const char *text_fallback;  /* TEXT */
    const char *help;
};

#define FIELD(field) offsetof(struct settings, field)

static const struct row table[] = {
#include "entrypoint/job/settings.def"
};
enum { ROWS = sizeof(table) / sizeof(table[0]) };

/* Set by ringmaster for its children; users have no need to set them. */
static const char *const inner[] = {"RINGMASTER_SOCKET", ATTEMPT_VARIABLE, ATTEMPT_RUN_VARIABLE,
                                    PROGRESS_VARIABLE};

/* The caller knows the type by the row's kind. */
static void *field(struct settings *s, const struct row *row) {
    return (char *)s + row->offset;
}

/* Returns 0 or 1 for the first or second of two words, -1 for any other. The error names both
 * words. */
static int choose(const char *value, const char *first, const char *second, struct error *err) {
    if (strcmp(value, first) == 0 || strcmp(value, second) == 0)
        return strcmp(value, second) == 0;
    return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is neither %s nor %s", value, first, second);
}

/* *RET is set after an error, too, to the default. */
static int parse_logs(const char *value, enum settings_logs *ret, struct error *err) {
    int chosen = choose(value, "host", "master", err);
    *ret = chosen == 1 ? SETTINGS_LOGS_MASTER : SETTINGS_LOGS_HOST;
    return chosen < 0 ? -1 : 0;
}

/* Parses one item, "7" or "40-49", at *AT and moves past it and its comma. Code 0 is not a failure.
 * A single number is a range of itself. A list may end with a comma. */
static int parse_codes_item(const char **at, int64_t *from, int64_t *to, struct error *err) {
    char item[16];
    size_t size = strcspn(*at, ",");
    if (size >= sizeof(item))
        return error_set(err, EXIT_CODE_CONFIG, "\"%.16s...\" is not an exit code", *at);
    memcpy(item, *at, size);
    item[size] = '\0';
    *at += size + ((*at)[size] == ',');
    char *dash = strchr(item, '-');
    if (dash != NULL)
        *dash = '\0';
    if (str_parse_int(item, 1, 255, from, err) != 0 ||
        str_parse_int(dash != NULL ? dash + 1 : item, 1, 255, to, err) != 0)
        return -1;
    return *from <= *to
               ? 0
               : error_set(err, EXIT_CODE_CONFIG, "%s-%s is a descending range", item, dash + 1);
}

/* Only checks the form: the text itself is kept, and read again by settings_has_code(). */
static int parse_codes(const char *value, const char **ret, struct error *err) {
    int64_t from = 0, to = 0;
    const char *at = value;
    do {
        if (parse_codes_item(&at, &from, &to, err) != 0)
            return -1;
    } while (*at != '\0');
    *ret = value;
    return 0;
}

/* CODES has been checked, or is NULL, which has no code. */
bool settings_has_code(const char *codes, int code) {
    int64_t from = 0, to = 0;
    while (codes != NULL && *codes != '\0') {
        if (parse_codes_item(&codes, &from, &to, NULL) != 0)
            return false;
        if (from <= code && code <= to)
            return true;
    }
    return false;
}

/* The form of the launcher's own lines. */
static int parse_form(const char *value, enum log_form *ret, struct error *err) {
    int chosen = choose(value, "text", "json", err);
    *ret = chosen == 1 ? LOG_JSON : LOG_TEXT;
    return chosen < 0 ? -1 : 0;
}

/* "none" turns off all platforms, and is in no table of them. */
static int parse_platform(const char *value, const char **ret, struct error *err) {
    char words[NEAREST_WORDS_MAX];
    if (strcmp(value, "none") != 0 && !platform_table_has(value))
        return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is neither none nor a platform%s%s",
                         value, "; ringmaster --help lists them",
                         platform_table_near(value, words));
    *ret = value;
    return 0;
}

/* The index is of enum settings_launcher; both directions use this list. */
static const char *const launchers[] = {[SETTINGS_LAUNCHER_AUTO] = "auto",
                                        [SETTINGS_LAUNCHER_MPIRUN] = "mpirun",
                                        [SETTINGS_LAUNCHER_DIRECT] = "direct"};

static int parse_launcher(const char *value, enum settings_launcher *ret, struct error *err) {
    /* TABLE_COUNT is the index of a word that is not in the table. */
    const size_t launcher = TABLE_INDEX(launchers, value);
    if (launcher == TABLE_COUNT(launchers))
        return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is neither auto, mpirun nor direct",
                         value);
    *ret = (enum settings_launcher)launcher;
    return 0;
}

static int parse_efa(const char *value, enum settings_efa *ret, struct error *err) {
    int chosen = choose(value, "auto", "toolkit", err);
    *ret = chosen == 1 ? SETTINGS_EFA_TOOLKIT : SETTINGS_EFA_AUTO;
    return chosen < 0 ? -1 : 0;
}

/* Sets the member of *RET that the row names. A text is taken as it is; what uses it checks it. */
static int parse_row(const struct row *row, const char *value, struct settings *ret,
                     struct error *err) {
    switch (row->kind) {
    case NUMBER:
        return str_parse_whole(value, row->min, row->max, field(ret, row), err);
    case SWITCH:
        return str_parse_bool(value, field(ret, row), err);
    case LOGS:
        return parse_logs(value, field(ret, row), err);
    case CODES:
        return parse_codes(value, field(ret, row), err);
    case FORM:
        return parse_form(value, field(ret, row), err);
    case LAUNCHER:
        return parse_launcher(value, field(ret, row), err);
    case EFA:
        return parse_efa(value, field(ret, row), err);
    case SIGNAL:
        return stop_signals_parse(value, field(ret, row), err);
    case WARNING:
        return stop_signals_parse_warning(value, field(ret, row), err);
    case PLATFORM:
        return parse_platform(value, field(ret, row), err);
    default:
        *(const char **)field(ret, row) = value;
        return 0;
    }
}

/* Kinds that are not named here begin as zero: a choice as its first word, a text as not set. */
static void set_defaults(struct settings *ret) {
    *ret = (struct settings){.stop_signal = SIGTERM};
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].kind == NUMBER)
            *(int64_t *)field(ret, &table[i]) = table[i].fallback;
        else if (table[i].kind == SWITCH)
            *(bool *)field(ret, &table[i]) = table[i].fallback != 0;
        else if (table[i].kind == TEXT)
            *(const char **)field(ret, &table[i]) = table[i].text_fallback;
    }
}

/* NAME is not terminated: SIZE bytes of it count, up to the sign. */
static bool is_inner(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
        if (strlen(inner[i]) == size && memcmp(inner[i], name, size) == 0)
            return true;
    return false;
}

/* Names are exact, and case counts. */
static const struct row *find_row(const char *name, size_t size) {
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(table[i].name) == size && memcmp(table[i].name, name, size) == 0)
            return &table[i];
    return NULL;
}

/* Variables ignored so far, which are reported in one line. */
struct ignored {
    const char *first;
    size_t count;
};

/* The common prefix RINGMASTER_ is left out, as it would make any two names near. NEAREST.name is
 * NULL if nothing is near enough to be suggested. */
static int unknown(const char *variable, size_t size, struct error *err) {
    static const size_t front = sizeof("RINGMASTER_") - 1;
    struct nearest nearest = nearest_begin(variable + front, size - front);
    for (size_t i = 0; i < ROWS; i++)
        if (str_starts_with(table[i].name, "RINGMASTER_"))
            nearest_try(&nearest, table[i].name + front);
    /* A message quotes no more of a name that may be anything. */
    int shown = (int)(size < 128 ? size : 128);
    if (nearest.name == NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%.*s: there is no such setting; ringmaster help lists them all", shown,
                         variable);
    return error_set(err, EXIT_CODE_CONFIG,
                     "%.*s: there is no such setting; did you mean RINGMASTER_%s? ringmaster help "
                     "lists them all",
                     shown, variable, nearest.name);
}

/* An empty value counts as not set, as it is in many templates of jobs. Variables of others are
 * passed over. The order of the questions matters. Names that Kubernetes makes are looked for only
 * among those without a row. Two are exceptions: they are both a setting and such a name. */
static int parse_variable(const char *variable, struct settings *ret, struct ignored *ignored,
                          struct error *err) {
    const char *equals = strchr(variable, '=');
    if (equals == NULL || equals[1] == '\0')
        return 0;
    size_t size = (size_t)(equals - variable);
    const struct row *row = find_row(variable, size);
    bool ours = str_starts_with(variable, "RINGMASTER_");
    /* Services named ringmaster and ringmaster-metrics give rise to these names, too. */
    bool is_port = row != NULL && (strcmp(row->name, "RINGMASTER_PORT") == 0 ||
                                   strcmp(row->name, "RINGMASTER_METRICS_PORT") == 0);
    if (str_starts_with(variable, SETTINGS_CHANNEL))
        return 0; /* parsed by download_sources.c */
    if (ours && ((row == NULL && service_variables_has(variable, size)) ||
                 (is_port && service_variables_is_url(equals + 1)))) {
        if (ignored->count++ == 0)
            ignored->first = variable;
        return 0;
    }
    if (row == NULL && ours && !is_inner(variable, size))
        return unknown(variable, size, err);
    if (row == NULL)
        return 0;
    if (parse_row(row, equals + 1, ret, err) != 0)
        return error_wrap(err, "%s", row->name);
    /* A limit that the user has set is applied more strictly than the default (standing.c). */
    ret->stall_is_set |= row->offset == FIELD(stall_seconds);
    return 0;
}

/* The first error is returned, but all variables are read: a host with a wrong setting still needs
 * the others to join and report it. */
int settings_parse(char *const *environment, struct settings *ret, struct warnings *warnings,
                   struct error *err) {
    struct ignored ignored = {0};
    /* Errors after the first go here, and are lost. */
    struct error later;
    int result = 0;
    set_defaults(ret);
    for (char *const *variable = environment; *variable != NULL; variable++)
        if (parse_variable(*variable, ret, &ignored, result == 0 ? err : &later) != 0)
            result = -1;
    if (ignored.count > 0)
        warnings_add(warnings,
                     "%.*s%s: ignored, because Kubernetes or docker set it for a service named "
                     "ringmaster; it is not a setting",
                     (int)strcspn(ignored.first, "="), ignored.first,
                     ignored.count > 1 ? " and others like it" : "");
    return result;
}

/* The interval grows by 4 ms a host, so that the first host handles at most 250 answers a second.
 * Three tenths of the lease are the most: three heartbeats fit into it. */
int64_t settings_beat(const struct settings *s, size_t hosts) {
    static const int64_t least = CLOCK_SECOND / 2;
    static const int64_t a_host = 4 * CLOCK_MILLISECOND;
    static const int64_t most = 3 * CLOCK_SECOND;
    /* In ns, like all of these. */
    int64_t share = settings_dead(s) * 3 / 10;
    int64_t wanted = a_host * (int64_t)hosts > least ? a_host * (int64_t)hosts : least;
    return wanted < share && wanted < most ? wanted : share < most ? share : most;
}

/* A sixth of the platform's time, and at least two seconds, remain for what follows the ranks' end
 * before the platform kills the container. Without GRACE, 120 s are assumed. */
int64_t settings_stop_seconds(const struct settings *s, unsigned grace) {
    enum { USUAL = 120, PART = 6, LEAST = 2 };
    unsigned all = grace > 0 ? grace : USUAL;
    if (s->stop_seconds > 0)
        return s->stop_seconds;
    return all - (all / PART > LEAST ? all / PART : LEAST);
}

/* After the rows comes one more entry, for the variables of channels, which have no row. NULL ends
 * the list. */
const char *settings_help(size_t number, const char **ret_name) {
    static const char channel[] =
        "where the channel \"name\" is fetched from: s3://, https://, file:///, or first:/// for a "
        "folder of the first host";
    *ret_name = number < ROWS ? table[number].name : SETTINGS_CHANNEL "NAME";
    if (number < ROWS)
        return table[number].help;
    return number == ROWS ? channel : NULL;
}

/* Prints a row's permitted values and its default. Two cells of the table. A number without a
 * default leaves the second one empty. */
static int page_value(const struct row *row, struct buf *ret, struct error *err) {
    static const char *const forms[] = {[TEXT] = "text",
                                        [SECRET] = "secret",
                                        [SWITCH] = "0 or 1",
                                        [LOGS] = "`host` or `master`",
                                        [FORM] = "`text` or `json`",
                                        [CODES] = "codes",
                                        [LAUNCHER] = "`auto`, `mpirun` or `direct`",
                                        [EFA] = "`auto` or `toolkit`",
                                        [SIGNAL] = "signal",
                                        [WARNING] = "signal@seconds",
                                        [PLATFORM] = "name"};
    /* A default below the least value stands for none. */
    if (row->kind == NUMBER && row->fallback >= row->min)
        return buf_printf(ret, err, "%" PRId64 " to %" PRId64 " | %" PRId64, row->min, row->max,
                          row->fallback);
    if (row->kind == NUMBER)
        return buf_printf(ret, err, "%" PRId64 " to %" PRId64 " |", row->min, row->max);
    const char *fallback = row->kind == SWITCH ? (row->fallback != 0 ? "1" : "0")
                           : row->kind == LOGS ? "`host`"
                           : row->kind == FORM ? "`text`"
                           : row->kind == LAUNCHER || row->kind == EFA ? "`auto`"
                           : row->kind == SIGNAL                       ? "`TERM`"
                                                                       : row->text_fallback;
    return buf_printf(ret, err, "%s | %s", forms[row->kind], fallback != NULL ? fallback : "");
}

/* The page docs/reference/variables.md has this table. */
int settings_page(struct buf *ret, struct error *err) {
    const char *name = NULL;
    const char *help = NULL;
    if (buf_add_text(ret, "| variable | value | default | meaning |\n| --- | --- | --- | --- |\n",
                     err) != 0)
        return -1;
    for (size_t i = 0; (help = settings_help(i, &name)) != NULL; i++) {
        if (buf_printf(ret, err, "| `%s` | ", name) != 0 ||
            (i < ROWS ? page_value(&table[i], ret, err) : buf_add_text(ret, "address | ", err)) !=
                0 ||
            buf_printf(ret, err, " | %s |\n", help) != 0)
            return -1;
    }
    return 0;
}

/* Appended to the help of a setting. 0 is no default worth a word: the help says what it means. */
void settings_default(size_t number, char ret[SETTINGS_DEFAULT_SIZE]) {
    const struct row *row = number < ROWS ? &table[number] : NULL;
    ret[0] = '\0';
    if (row != NULL && row->kind == NUMBER && row->fallback != 0)
        (void)snprintf(ret, SETTINGS_DEFAULT_SIZE, " (default %" PRId64 ")", row->fallback);
    else if (row != NULL && row->text_fallback != NULL)
        (void)snprintf(ret, SETTINGS_DEFAULT_SIZE, " (default %s)", row->text_fallback);
}

/* A secret is never shown, only that there is one. What is not set is null. */
static json_t *value_json(const struct settings *s, const struct row *row) {
    const char *at = (const char *)s + row->offset;
    const char *text = NULL;
    switch (row->kind) {
    case NUMBER:
        return json_integer(*(const int64_t *)(const void *)at);
    case SWITCH:
        return json_boolean(*(const bool *)at);
    case PLATFORM:
        return s->platform != NULL ? json_string(s->platform) : json_null();
    case FORM:
        return json_string(s->form == LOG_JSON ? "json" : "text");
    case LAUNCHER:
        return json_string(launchers[s->launcher]);
    case EFA:
        return json_string(s->efa == SETTINGS_EFA_TOOLKIT ? "toolkit" : "auto");
    case SIGNAL:
        return s->stop_signal > 0 ? json_string(signal_name(s->stop_signal)) : json_null();
    case WARNING:
        return stop_signals_warning_json(&s->warning);
    case LOGS:
        return json_string(s->logs == SETTINGS_LOGS_MASTER ? "master" : "host");
    default:
        text = *(const char *const *)(const void *)at;
        if (text == NULL)
            return json_null();
        return json_string_any(row->kind == SECRET ? "***" : text);
    }
}

/* All settings by name, for `ringmaster plan`; NULL: no memory. */
json_t *settings_json(const struct settings *s) {
    json_t *object = json_object();
    for (size_t i = 0; object != NULL && i < ROWS; i++)
        if (json_object_set_new(object, table[i].name, value_json(s, &table[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}
