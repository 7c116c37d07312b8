#include "entrypoint/command/manual.h"

#include "common/cleanup.h"
#include "common/exit_code.h"
#include "common/text/nearest.h"
#include "common/text/roff.h"
#include "common/text/wrap.h"
#include "entrypoint/command/manual_topics.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/settings.h"
#include "entrypoint/outcome/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* One table, `rows`, is all that is written about commands. The list of commands, the help of each,
 * the man page, the completion of bash and the table in docs/reference/ringmaster.md are made from
 * it, so they cannot differ. A command has several rows if its forms have different purposes; they
 * stand together, since add_commands() and add_options() look only at the row before.
 *
 * Variables come from job/settings.h, exit codes from exit_code.h, and what `explain` knows from
 * outcome/explain.h. The commands in inner_command.h are in no row: people do not call them, and a
 * sentence about names is all that the help has on them.
 *
 * Commands that take a first word literally, such as --all, have it in `words`, from which misspelt
 * options are recognised (manual_nearest_option). That is why the form of `words` matters. */

/* Columns at which texts begin in the help. */
enum { COLUMN = 36, VARIABLE_COLUMN = 30 };

/* The program in one line, for the help and the man page. */
static const char title[] = "turns a set of identical containers into one MPI training job";
/* How the program is called by others, below the list of commands and in the man page. */
static const char names[] =
    "Called as `train` it does what `ringmaster train` does. `ringmaster rank` and "
    "`ringmaster agent` are started by mpirun, `ringmaster examine` by `ringmaster check`, "
    "`ringmaster study` by `ringmaster trials` and `ringmaster scaling`. "
    "`ringtrain train --help` lists the trainer's flags.";

/* In the order of the help: what runs a job, what prepares or measures one, what explains. Texts
 * begin in lower case and have no full stop at the end, as they are cells of a table. The last row
 * has no command and ends the loops over the table. */
static const struct manual_row rows[] = {
    {"train", "[FLAGS]", "train with ringtrain, or with sagemaker_program",
     "ringmaster train --data pictures --model resnet50 --epochs 90"},
    {"train", "-- PROGRAM ARGS", "run any program on every slot of every host",
     "ringmaster train -- python3 train.py --epochs 10"},
    {"train", JOB_ONCE_PER_HOST " [as above]",
     "once on every host instead: it has all devices to itself",
     "ringmaster train " JOB_ONCE_PER_HOST " -- hostname"},
    {"plan", "[train] [as above]", "print what would run, as JSON",
     "ringmaster plan train -- python3 train.py"},
    {"check", "[--json] [train] [as above]",
     "gather all hosts and print what each of them has, how they reach each other and what would "
     "hurt a job",
     "RINGMASTER_HOSTS=10.0.0.1,10.0.0.2 ringmaster check -- python3 train.py"},
    {"check", "--mpi [--json]",
     "sum numbers among all hosts by ringtrain over MPI: wrong sums and slow pairs of hosts are "
     "named, bandwidths printed",
     "RINGMASTER_HOSTS=10.0.0.1,10.0.0.2 ringmaster check --mpi"},
    {"check", "--nccl [--json]", "the same from GPU to GPU over NCCL",
     "RINGMASTER_HOSTS=10.0.0.1:8,10.0.0.2:8 ringmaster check --nccl"},
    {"trials", "FILE [--out DIR] [--then-best] -- PROGRAM ARGS",
     "run any program with the configurations of a plan, each on its own ranks, and rank them by a "
     "metric that it prints; one that crashes or hangs costs only itself",
     "ringmaster trials plan.json -- python3 train.py --epochs 10"},
    {"scaling", "[OPTIONS] -- PROGRAM ARGS",
     "run any program on 1, 2, 4 ranks and so on, and report throughput, efficiency, time and "
     "cost; OPTIONS: --ranks N,... --metric NAME --per-rank --variant NAME=WORDS --unit TEXT "
     "--samples N --limit SECONDS --project N,... --prices FILE --out DIR",
     "ringmaster scaling --metric images_per_second -- python3 train.py"},
    {"explain", "[CODE]",
     "what an exit code, a signal or an error of MPI, NCCL or CUDA means and what to do: 73, "
     "SIGBUS, mpi:15, nccl:2, cuda:700, xid:79, a word (oom), a line that a program printed",
     "ringmaster explain 137"},
    {"metrics", "", "print metric definitions for CreateTrainingJob",
     "ringmaster metrics >metrics.json"},
    {"version", "[--all]", "its version; with --all those of all that it works with",
     "ringmaster version --all"},
    {"man", "[PAGE]", "print the man page, as `man -l -` reads it; PAGE: environment or exit-codes",
     "ringmaster man exit-codes | man -l -"},
    {"completion", "", "print a script of completions, for bash to source",
     ". <(ringmaster completion)"},
    {"help", "", "print commands, variables and exit codes", "ringmaster help check"},
    {NULL, NULL, NULL, NULL},
};

/* For entrypoint/command/docs.c and for tests. */
const struct manual_row *manual_rows(void) {
    return rows;
}

/* The literal option in a row, without brackets: *RET points into the row, and the size is
 * returned, 0 if there is none. Words in capitals stand for something else and are no options. */
static size_t option_of(const struct manual_row *row, const char **ret) {
    *ret = row->words + (row->words[0] == '[');
    size_t size = strcspn(*ret, " ]");
    return size > 0 && ((*ret)[0] == '-' || islower((unsigned char)(*ret)[0])) ? size : 0;
}

/* Compares whole words: "--al" is not "--all". */
bool manual_takes(const char *command, const char *word) {
    for (const struct manual_row *row = rows; word != NULL && row->command != NULL; row++) {
        const char *option = NULL;
        size_t size = option_of(row, &option);
        if (size > 0 && strcmp(row->command, command) == 0 && strlen(word) == size &&
            memcmp(option, word, size) == 0)
            return true;
    }
    return false;
}

/* NULL for a word that is like none, as a wrong guess would help nobody. Rows of one command are
 * tried several times, which changes nothing. */
const char *manual_nearest(const char *word) {
    struct nearest nearest = nearest_begin(word, strlen(word));
    for (const struct manual_row *row = rows; row->command != NULL; row++)
        nearest_try(&nearest, row->command);
    return nearest.name;
}

/* The result points into a static buffer, valid until the next call. Only nearest.h judges how near
 * a word has to be; the name has to be copied for it, since it takes C strings. */
const char *manual_nearest_option(const char *command, const char *word) {
    static char found[32]; /* the table's text has no NUL after it */
    struct nearest nearest = nearest_begin(word, strlen(word));
    for (const struct manual_row *row = rows; row->command != NULL; row++) {
        char name[sizeof(found)];
        const char *option = NULL;
        size_t size = option_of(row, &option);
        if (strcmp(row->command, command) != 0 || size == 0 || size >= sizeof(name))
            continue;
        (void)snprintf(name, sizeof(name), "%.*s", (int)size, option);
        /* nearest_try() keeps the pointer that it was given, and NAME is gone after this turn: a
         * name that won is copied. */
        const char *before = nearest.name;
        nearest_try(&nearest, name);
        if (nearest.name != before) {
            (void)snprintf(found, sizeof(found), "%s", name);
            nearest.name = found;
        }
    }
    return nearest.name;
}

/* One word too many is named; the rest of them would add nothing. For commands that take a fixed
 * number of words: the caller passes what follows these. */
int manual_refuse_words(const char *const *words, struct error *err) {
    if (words[0] == NULL)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "unexpected %.128s; see `ringmaster help`", words[0]);
}

/* 0 for a word that is like no option: it may be a word of the program, or be refused elsewhere.
 * check_request.c uses it before it takes a word for the job's. */
int manual_refuse_option(const char *command, const char *word, struct error *err) {
    const char *nearest = word != NULL ? manual_nearest_option(command, word) : NULL;
    if (nearest == NULL)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "unknown option %.64s; did you mean %s?", word, nearest);
}

/* Without a near name the word is most likely the user's own program, so the message tells how to
 * start that. Both messages lead to the help, which has all commands. */
int manual_refuse_command(const char *word, struct error *err) {
    const char *nearest = manual_nearest(word);
    if (nearest == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "unknown command %.128s; see `ringmaster help`, and start a program of "
                         "your own by `ringmaster train -- PROGRAM ARGS`",
                         word);
    return error_set(err, EXIT_CODE_USAGE,
                     "unknown command %.128s; did you mean %s? See `ringmaster help`", word,
                     nearest);
}

/* Appends TEXT wrapped at WRAP_WIDTH, starting at the column AT; continuation lines begin at
 * INDENT. Ends with a newline. */
static int add_wrapped(struct buf *ret, const char *text, size_t at, size_t indent,
                       struct error *err) {
    const struct wrap wrap = {.at = at, .indent = indent, .width = WRAP_WIDTH};
    return wrap_add(ret, text, wrap, err) == 0 ? buf_add(ret, "\n", 1, err) : -1;
}

/* Adds the examples of COMMAND; NULL: of all commands. */
static int add_examples(struct buf *ret, const char *command, struct error *err) {
    if (buf_add_text(ret, "\nExamples:\n", err) != 0)
        return -1;
    for (const struct manual_row *row = rows; row->command != NULL; row++)
        if ((command == NULL || strcmp(row->command, command) == 0) && row->example != NULL &&
            buf_printf(ret, err, "  %s\n", row->example) != 0)
            return -1;
    return 0;
}

/* A command that is too long for the column has its text on the next line. */
static int help_row(const struct manual_row *row, struct buf *ret, struct error *err) {
    size_t before = ret->size;
    if (buf_printf(ret, err, "  ringmaster %s %s", row->command, row->words) != 0)
        return -1;
    /* Bytes are columns here, as the table is ASCII. */
    size_t used = ret->size - before;
    if (used + 1 > COLUMN && buf_add(ret, "\n", 1, err) != 0)
        return -1;
    int pad = used + 1 > COLUMN ? COLUMN : (int)(COLUMN - used);
    if (buf_printf(ret, err, "%*s", pad, "") != 0)
        return -1;
    return add_wrapped(ret, row->text, COLUMN, COLUMN, err);
}

/* settings_help() returns NULL after the last one. A variable's text has its default at the end. */
static int help_variables(struct buf *ret, struct error *err) {
    const char *name = NULL;
    const char *help = NULL;
    /* The number of a setting is also that of its default. */
    for (size_t i = 0; (help = settings_help(i, &name)) != NULL; i++) {
        cleanup_buf struct buf text;
        buf_init(&text, MANUAL_MEANING_MOST);
        if (manual_meaning(&text, help, i, err) != 0 ||
            buf_printf(ret, err, "  %-*s", VARIABLE_COLUMN - 2, name) != 0 ||
            add_wrapped(ret, buf_text(&text), VARIABLE_COLUMN, VARIABLE_COLUMN, err) != 0)
            return -1;
    }
    return 0;
}

/* Also what a call without any command prints, on standard error. */
int manual_commands(struct buf *ret, struct error *err) {
    if (buf_printf(ret, err, "ringmaster: %s\n\n", title) != 0)
        return -1;
    for (const struct manual_row *row = rows; row->command != NULL; row++)
        if (help_row(row, ret, err) != 0)
            return -1;
    return 0;
}

/* The order is that of a first reading: commands, examples, names, variables. Exit codes are added
 * by help.c, which prints them to a stream. */
int manual_help(struct buf *ret, struct error *err) {
    if (manual_commands(ret, err) != 0)
        return -1;
    if (add_examples(ret, NULL, err) != 0 || buf_add(ret, "\n", 1, err) != 0 ||
        add_wrapped(ret, names, 0, 0, err) != 0 || buf_add_text(ret, "\nVariables:\n", err) != 0)
        return -1;
    return help_variables(ret, err);
}

/* RET has room for all of it, so errors of the buffer cannot arise and are ignored. False leaves
 * RET as it was, and the caller decides between an error and the whole help. */
bool manual_help_of(const char *command, struct buf *ret) {
    bool found = false;
    for (const struct manual_row *row = rows; row->command != NULL; row++)
        if (strcmp(row->command, command) == 0) {
            (void)help_row(row, ret, NULL);
            found = true;
        }
    if (!found)
        return false;
    (void)add_examples(ret, command, NULL);
    if (strcmp(command, "train") == 0)
        (void)buf_add_text(ret, "\n`ringtrain train --help` lists FLAGS.\n", NULL);
    (void)buf_add_text(ret, "\n`ringmaster help` lists all commands, variables and exit codes.\n",
                       NULL);
    return true;
}

/* --- roff ------------------------------------------------------------------------------------ */

/* One paragraph for each, as roff joins lines otherwise. */
static int add_page_examples(struct buf *ret, struct error *err) {
    if (buf_add_text(ret, ".SH EXAMPLES\n", err) != 0)
        return -1;
    for (const struct manual_row *row = rows; row->command != NULL; row++)
        if (row->example != NULL &&
            (buf_add_text(ret, ".PP\n", err) != 0 || roff_text(ret, row->example, err) != 0))
            return -1;
    return 0;
}

/* Sections have the names that man-pages(7) gives them. roff.h escapes what roff would take for a
 * request in the texts of the tables. */
int manual_page(struct buf *ret, struct error *err) {
    if (roff_head(ret, "ringmaster", 1, "ringmaster", RINGMASTER_VERSION, title, err) != 0 ||
        buf_add_text(ret, ".SH SYNOPSIS\n.B ringmaster\nCOMMAND [WORDS]\n.SH COMMANDS\n", err) != 0)
        return -1;
    for (const struct manual_row *row = rows; row->command != NULL; row++) {
        char name[128];
        (void)snprintf(name, sizeof(name), "%s%s%s", row->command, row->words[0] != '\0' ? " " : "",
                       row->words);
        if (roff_item(ret, name, "", row->text, err) != 0)
            return -1;
    }
    if (buf_add_text(ret, ".PP\n", err) != 0 || roff_text(ret, names, err) != 0 ||
        buf_add_text(ret, ".SH ENVIRONMENT\n", err) != 0 || manual_variables(ret, err) != 0 ||
        buf_add_text(ret, ".SH EXIT STATUS\n", err) != 0 || manual_codes(ret, err) != 0 ||
        add_page_examples(ret, err) != 0)
        return -1;
    return buf_add_text(ret,
                        ".SH FILES\n.TP\n.I /opt/ml/output/failure\nwhich host and rank failed "
                        "first, and how\n.TP\n.I /opt/ml/output/data/events\\-HOST.jsonl\nwhat "
                        "happened when, one JSON object a line\n"
                        ".SH SEE ALSO\n.BR ringmaster\\-environment (7),\n"
                        ".BR ringmaster\\-exit\\-codes (7)\n",
                        err);
}

/* --- completion ------------------------------------------------------------------------------ */

/* Each name once: a row of the same command as the one before it is skipped. */
static int add_commands(struct buf *ret, struct error *err) {
    const char *before = "";
    for (const struct manual_row *row = rows; row->command != NULL; row++) {
        if (strcmp(row->command, before) != 0 &&
            buf_printf(ret, err, "%s%s", before[0] != '\0' ? " " : "", row->command) != 0)
            return -1;
        before = row->command;
    }
    return 0;
}

/* The words that `ringmaster explain` knows, such as "nccl:2". */
static int add_keys(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    for (size_t i = 0; i < count; i++) {
        char key[EXPLAIN_KEY_SIZE];
        explain_key(&table[i], key);
        if (buf_printf(ret, err, "%s%s", i > 0 ? " " : "", key) != 0)
            return -1;
    }
    return 0;
}

/* Adds the possible first words of each command as cases of the shell's `case`. OPEN is the command
 * of the open case; rows of one command follow each other. */
static int add_options(struct buf *ret, struct error *err) {
    const char *open = "";
    for (const struct manual_row *row = rows; row->command != NULL; row++) {
        const char *option = NULL;
        size_t size = option_of(row, &option);
        bool another = strcmp(open, row->command) != 0;
        if (size == 0)
            continue;
        if (another && buf_printf(ret, err, "%s    2:%s) words='", open[0] != '\0' ? "' ;;\n" : "",
                                  row->command) != 0)
            return -1;
        if (buf_printf(ret, err, "%s%.*s", another ? "" : " ", (int)size, option) != 0)
            return -1;
        open = row->command;
    }
    return buf_add_text(ret, open[0] != '\0' ? "' ;;\n" : "", err);
}

/* bash splits words at colons, which keys contain, so the script joins them again: with "nccl:"
 * typed it offers only what follows the colon. COMP_WORDBREAKS is left alone, as it belongs to all
 * completions. zsh runs the same script by its bashcompinit. */
int manual_completion(struct buf *ret, struct error *err) {
    if (buf_add_text(ret,
                     "# bash completion for ringmaster\n_ringmaster() {\n"
                     "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                     "    case $COMP_CWORD:${COMP_WORDS[1]} in\n    1:*) words='",
                     err) != 0 ||
        add_commands(ret, err) != 0 ||
        buf_add_text(ret, "' ;;\n    *:explain)\n        words='", err) != 0 ||
        add_keys(ret, err) != 0 ||
        buf_add_text(ret,
                     "'\n        if [[ ${COMP_LINE##* } == *:* ]]; then\n"
                     "            local kind=${COMP_LINE##* }\n"
                     "            kind=${kind%%:*}\n"
                     "            [[ $word == : ]] && word=\n"
                     "            words=$(printf '%s\\n' $words | sed -n \"s/^$kind://p\")\n"
                     "        fi\n        ;;\n",
                     err) != 0 ||
        add_options(ret, err) != 0)
        return -1;
    return buf_add_text(ret,
                        "    esac\n"
                        "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
                        "complete -o default -F _ringmaster ringmaster\n",
                        err);
}
