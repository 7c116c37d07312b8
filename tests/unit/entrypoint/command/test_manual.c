#include "entrypoint/command/manual.h"

#include "common/exit_code.h"
#include "common/file/file.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/settings.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every form of the manual is made from one table (entrypoint/command/manual.c). The tests walk
 * over that table, and over those of exit codes and settings, and look for each row in each form.
 * Completion is a script for bash, so bash itself runs it here. */

/* What print() printed last; complete() takes the script from here. */
static struct buf text;

/* Prints one form of the manual into `text`, in place of the last one. */
static void print(int (*what)(struct buf *ret, struct error *err)) {
    buf_done(&text);
    buf_init(&text, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(what(&text, NULL), 0);
}

/* 79 columns, as terminals have 80. Every row of the table is in the text, and a setting with its
 * default stands for the list of variables. */
static void help_fits_a_terminal_and_names_every_command(void) {
    print(manual_help);
    for (const struct manual_row *row = manual_rows(); row->command != NULL; row++) {
        char line[256];
        (void)snprintf(line, sizeof(line), "\n  ringmaster %s %s", row->command, row->words);
        ASSERT_CONTAINS(buf_text(&text), line);
    }
    ASSERT_CONTAINS(buf_text(&text), "\n  RINGMASTER_PORT             first TCP port: ");
    ASSERT_CONTAINS(buf_text(&text), "(default 7070)\n");
    for (const char *at = buf_text(&text); *at != '\0'; at += strcspn(at, "\n") + 1)
        CU_ASSERT(strcspn(at, "\n") < 80);
}

/* man reads a line that begins with a point or an apostrophe as a request, and drops one it does
 * not know: a text of a table that began so would vanish. The number of variables only shows that
 * there was a list. */
static void the_page_has_commands_variables_and_codes(void) {
    size_t count = 0;
    const struct exit_code_row *codes = exit_code_table(&count);
    print(manual_page);
    CU_ASSERT_EQUAL(strncmp(buf_text(&text), ".TH RINGMASTER 1 ", 17), 0);
    ASSERT_CONTAINS(buf_text(&text), "\n.B train \\-\\- PROGRAM ARGS\n");
    for (size_t i = 0; i < count; i++) {
        char line[32];
        (void)snprintf(line, sizeof(line), "\n.TP\n.B %d\n", codes[i].code);
        ASSERT_CONTAINS(buf_text(&text), line);
    }
    const char *name = NULL;
    size_t variables = 0;
    /* Settings are numbered from 0 and end with NULL. */
    while (settings_help(variables, &name) != NULL) {
        char line[128];
        (void)snprintf(line, sizeof(line), "\n.B %s\n", name);
        ASSERT_CONTAINS(buf_text(&text), line);
        variables++;
    }
    /* A list that ends too early would pass otherwise. */
    CU_ASSERT(variables > 20);
    /* No line is a roff request by accident: each that looks like one is of a known kind. */
    for (const char *at = buf_text(&text); *at != '\0'; at += strcspn(at, "\n") + 1) {
        static const char *const known[] = {".TH ", ".SH ",  ".TP\n", ".B ",
                                            ".I ",  ".PP\n", ".br\n", ".BR "};
        bool ours = *at != '.' && *at != '\'';
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            ours |= strncmp(at, known[i], strlen(known[i])) == 0;
        CU_ASSERT(ours);
    }
}

/* Returns what bash offers for word NUMBER of WORDS, into which it splits LINE. COMP_WORDS and its
 * like are what bash sets before it calls a completion function. The script comes from a file, as
 * with `. <(ringmaster completion)`, and what it offers is printed on one line. */
static const char *complete(const char *words, const char *line, int number) {
    static char got[8192];
    char path[600], script[1024];
    (void)snprintf(path, sizeof(path), "%s/completion", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(path, text.data, text.size, 0600, NULL), 0);
    (void)snprintf(script, sizeof(script),
                   ". %s; COMP_WORDS=(%s); COMP_CWORD=%d; COMP_LINE='%s'; _ringmaster; "
                   "echo \"${COMPREPLY[*]}\"",
                   path, words, number, line);
    /* A pipe, because the script prints to the standard output of bash. */
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        /* Errors of the script stay on stderr, where the log of the tests has them. */
        (void)dup2(ends[1], 1);
        execl("/bin/bash", "bash", "-c", script, (char *)NULL);
        _exit(99);
    }
    (void)close(ends[1]);
    size_t size = 0;
    for (ssize_t more; (more = read(ends[0], got + size, sizeof(got) - 1 - size)) > 0;)
        size += (size_t)more;
    got[size] = '\0';
    (void)close(ends[0]);
    int status = -1;
    (void)waitpid(pid, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    return got;
}

/* bash splits "xid:7" at the colon into three words, so the fifth word is what is completed there.
 * A command without literal words offers nothing. Keys of `explain` come from the table of
 * failures. */
static void bash_completes_commands_and_keys(void) {
    if (access("/bin/bash", X_OK) != 0) {
        unit_skip("no bash");
        return;
    }
    print(manual_completion);
    CU_ASSERT_STRING_EQUAL(complete("ringmaster ex", "ringmaster ex", 1), "explain\n");
    ASSERT_CONTAINS(complete("ringmaster ''", "ringmaster ", 1),
                    "train plan check trials scaling explain");
    CU_ASSERT_STRING_EQUAL(complete("ringmaster explain SIGB", "ringmaster explain SIGB", 2),
                           "SIGBUS\n");
    CU_ASSERT_STRING_EQUAL(complete("ringmaster explain xid : 7", "ringmaster explain xid:7", 4),
                           "74 79\n");
    CU_ASSERT_STRING_EQUAL(complete("ringmaster version -", "ringmaster version -", 2), "--all\n");
    CU_ASSERT_STRING_EQUAL(complete("ringmaster train -", "ringmaster train -", 2),
                           "-- " JOB_ONCE_PER_HOST "\n");
    CU_ASSERT_STRING_EQUAL(complete("ringmaster check ''", "ringmaster check ", 2),
                           "--json --mpi --nccl\n");
    CU_ASSERT_STRING_EQUAL(complete("ringmaster plan t", "ringmaster plan t", 2), "train\n");
    CU_ASSERT_STRING_EQUAL(complete("ringmaster man -", "ringmaster man -", 2), "\n");
}

/* The parser accepts the words that the help shows literally. Words in capitals stand for others,
 * and the brackets of an optional word are not part of it. A word that only begins or ends like one
 * of these is refused. */
static void what_a_row_shows_is_taken(void) {
    static const struct {
        const char *command, *word;
        bool is;
        /* The last two: a command without words, and one that is not there. */
    } cases[] = {{"version", "--all", true},   {"version", "--al", false},
                 {"version", "--all]", false}, {"version", "--json", false},
                 {"version", NULL, false},     {"check", "--json", true},
                 {"plan", "train", true},      {"plan", "as", false},
                 {"train", "--", true},        {"train", JOB_ONCE_PER_HOST, true},
                 {"train", "FLAGS", false},    {"explain", "CODE", false},
                 {"man", "", false},           {"unknown", "--all", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CU_ASSERT_EQUAL(manual_takes(cases[i].command, cases[i].word), cases[i].is);
}

/* None of these functions prints: the error is what main reports. NULL is no word, and nothing that
 * could be wrong. The message for "fly" names no command, since none is near. */
static void wrong_words_are_refused(void) {
    const char *const none[] = {NULL}, *const more[] = {"now", NULL};
    struct error err = {0};
    CU_ASSERT_EQUAL(manual_refuse_words(none, &err), 0);
    CU_ASSERT_EQUAL(manual_refuse_words(more, &err), -1);
    ASSERT_CONTAINS(err.text, "unexpected now");
    CU_ASSERT_EQUAL(manual_refuse_option("check", NULL, &err), 0);
    CU_ASSERT_EQUAL(manual_refuse_option("check", "--jsn", &err), -1);
    ASSERT_CONTAINS(err.text, "did you mean --json?");
    CU_ASSERT_EQUAL(manual_refuse_command("fly", &err), -1);
    ASSERT_CONTAINS(err.text, "start a program of your own");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("entrypoint.manual", UNIT(wrong_words_are_refused),
           UNIT(help_fits_a_terminal_and_names_every_command),
           UNIT(the_page_has_commands_variables_and_codes), UNIT(bash_completes_commands_and_keys),
           UNIT(what_a_row_shows_is_taken))
