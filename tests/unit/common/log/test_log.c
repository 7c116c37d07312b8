#include "common/log/log.h"
#include "common/text/redact.h"
#include "tests/support/pty.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Log lines go to the descriptor of stderr and not to a stream, so the tests lead that descriptor
 * into a pipe or a pseudo terminal and read what arrives. The lines of one call fit into the pipe,
 * so nobody has to read meanwhile. Forms, names and sinks belong to the process: each case sets
 * back what it has changed, for the next one. */

static char caught[65536];

/* Runs WRITE with stderr led into a pipe and keeps what came. Assertions of WRITE itself go to
 * stdout, so they do not mix with it. */
static void catch_stderr(void (*write_lines)(void)) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    write_lines();
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    ssize_t got = read(ends[0], caught, sizeof(caught) - 1);
    caught[got > 0 ? got : 0] = '\0';
    close(ends[0]);
}

/* errno is that of a failed call before, which the caller may still want to report: logging keeps
 * it. */
static void write_one(void) {
    log_set_who("algo-2");
    errno = ENOENT;
    log_info("joined %s", "algo-1");
    CU_ASSERT_EQUAL(errno, ENOENT);
    log_debug("not shown");
}

/* The fifth byte is the dash after the year. A line below the level is not shown at all. */
static void a_line_holds_time_level_who_and_text(void) {
    catch_stderr(write_one);
    ASSERT_CONTAINS(caught, "Z info    algo-2: joined algo-1\n");
    CU_ASSERT_PTR_NULL(strstr(caught, "not shown"));
    CU_ASSERT_EQUAL(caught[4], '-');
}

/* The secret, a line end and a byte that is no UTF-8, all in one text. The list of secrets is
 * emptied for the next case. */
static void write_secret(void) {
    redact_add("s3cr3t-value", NULL);
    log_warning("key is s3cr3t-value\nsecond \x83");
    redact_done();
}

/* A text from outside must not make a second line, which could pass for one of the log's own. */
static void secrets_line_ends_and_bad_bytes_do_not_pass(void) {
    catch_stderr(write_secret);
    ASSERT_CONTAINS(caught, "key is ***?second \xef\xbf\xbd\n");
}

/* Bytes that the sink below got. */
static size_t sunk;

/* Gets whole lines only, so the last byte is a newline. The context has to be the one that was
 * set. */
static void sink(void *context, const char *line, size_t size) {
    CU_ASSERT_PTR_EQUAL(context, &sunk);
    CU_ASSERT_EQUAL(line[size - 1], '\n');
    sunk += size;
}

/* The former sink is returned and can be put back. The first line goes to the new sink alone, and
 * the second one to stderr again. */
static void write_to_sink(void) {
    struct log_sink before = log_set_sink((struct log_sink){sink, &sunk});
    CU_ASSERT_PTR_NULL(before.put);
    log_info("elsewhere");
    CU_ASSERT_PTR_EQUAL(log_set_sink(before).context, &sunk);
    log_info("here again");
}

/* One sink at a time: the pipe gets nothing of what the sink got. */
static void lines_go_where_they_are_led(void) {
    catch_stderr(write_to_sink);
    CU_ASSERT_PTR_NULL(strstr(caught, "elsewhere"));
    ASSERT_CONTAINS(caught, "here again\n");
    CU_ASSERT(sunk > strlen("elsewhere\n"));
}

/* Twice the limit, without a blank. */
static void write_long(void) {
    char text[2 * LOG_LINE_MAX];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_error("%s", text);
}

/* The text is cut, but the line still ends with a newline. 100 bytes are more than time, level and
 * source take. */
static void long_lines_are_cut(void) {
    catch_stderr(write_long);
    CU_ASSERT(strlen(caught) < LOG_LINE_MAX + 100);
    CU_ASSERT_EQUAL(caught[strlen(caught) - 1], '\n');
}

static void write_json(void) {
    log_set_form(LOG_JSON);
    log_set_who("al\"go");
    log_warning("a\n\"b\" \\ \x83 \x01");
    log_set_form(LOG_TEXT);
    log_set_who("algo-2");
}

/* Quotes, backslashes, control characters and bad bytes are escaped or replaced in both texts, the
 * source's name and the line. Each line is one object, so a newline in the text must not pass. */
static void for_machines_a_line_is_one_object(void) {
    catch_stderr(write_json);
    ASSERT_CONTAINS(caught, "Z\",\"level\":\"warning\",\"who\":\"al\\\"go\","
                            "\"text\":\"a?\\\"b\\\" \\\\ \xef\xbf\xbd ?\"}\n");
    CU_ASSERT_EQUAL(strncmp(caught, "{\"time\":\"2", 10), 0);
}

static void write_for_a_terminal(void) {
    log_set_form(LOG_TERMINAL);
    log_set_who(NULL);
    log_info("said");
    log_warning("warned");
    log_set_form(LOG_TEXT);
    log_set_who("algo-2");
}

/* "20:36:31 said": a terminal is narrow. */
static void for_a_terminal_a_line_is_short(void) {
    catch_stderr(write_for_a_terminal);
    CU_ASSERT_EQUAL(strspn(caught, "0123456789"), 2);
    CU_ASSERT_EQUAL(caught[2], ':');
    CU_ASSERT_EQUAL(strncmp(caught + 8, " said\n", 6), 0);
    ASSERT_CONTAINS(caught, " warning: warned\n");
}

/* Writes three lines to a terminal of so many columns and returns what it would show. NO_COLOR is
 * the usual way to have no colours (no-color.org). */
static const char *on_a_terminal(unsigned short columns, bool colour) {
    struct pty pty = pty_open(columns);
    static char seen[8192];
    int saved = dup(STDERR_FILENO);
    (void)dup2(pty.terminal, STDERR_FILENO);
    (void)(colour ? unsetenv("NO_COLOR") : setenv("NO_COLOR", "1", 1));
    log_set_terminal(STDERR_FILENO);
    log_set_who("a");
    log_info("one two three four five");
    log_warning("six");
    log_error("seven");
    log_set_form(LOG_TEXT);
    log_set_who("algo-2");
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    (void)snprintf(seen, sizeof(seen), "%s", pty_seen(&pty));
    pty_close(&pty);
    return seen;
}

/* Continuation lines begin below the text and not below the clock. No escape sequence is written
 * without colours. */
static void a_line_breaks_at_the_terminals_width(void) {
    const char *seen = on_a_terminal(26, false);
    ASSERT_CONTAINS(seen, " a: one two three\r\n         four five\r\n");
    ASSERT_CONTAINS(seen, " warning: a: six\r\n");
    CU_ASSERT_PTR_NULL(strchr(seen, '\x1b'));
}

/* Warnings are yellow and errors bold red; an information has no level and no colour of its own.
 * The clock before them is dim. */
static void levels_have_colours_on_a_terminal(void) {
    const char *seen = on_a_terminal(80, true);
    ASSERT_CONTAINS(seen, " \x1b[0ma: one two three four five\r\n");
    ASSERT_CONTAINS(seen, " \x1b[0m\x1b[33mwarning:\x1b[0m a: six\r\n");
    ASSERT_CONTAINS(seen, " \x1b[0m\x1b[1;31merror:\x1b[0m a: seven\r\n");
}

/* The last line that the listener below got, with its level as a number before it. */
static char heard[256];

static void hear(void *context, enum log_level level, const char *text) {
    (void)context;
    (void)snprintf(heard, sizeof(heard), "%d %s", (int)level, text);
}

static void write_errors_key(void) {
    CU_ASSERT_EQUAL(redact_add("hunter2hunter2", NULL), 0);
    log_error("key hunter2hunter2");
    log_debug("below the level");
    redact_done();
}

/* The event log is such a listener, and its file may be uploaded: the secret must be gone by then.
 * 3 is LOG_ERROR. */
static void a_listener_hears_what_is_said_without_secrets(void) {
    (void)log_set_listener((struct log_listener){.hear = hear});
    catch_stderr(write_errors_key);
    (void)log_set_listener((struct log_listener){0});
    CU_ASSERT_STRING_EQUAL(heard, "3 key ***");
}

/* Each call leaves the last line in `heard`; empty lines make none, and a newline at the end adds
 * none. */
static void lines_of_a_text_stand_by_themselves(void) {
    (void)log_set_listener((struct log_listener){.hear = hear});
    log_lines(LOG_ERROR, "\none\n\ntwo");
    CU_ASSERT_STRING_EQUAL(heard, "3   | two");
    log_lines(LOG_ERROR, "three\n");
    CU_ASSERT_STRING_EQUAL(heard, "3   | three");
    (void)log_set_listener((struct log_listener){0});
}

UNIT_SUITE("common.log", UNIT(lines_of_a_text_stand_by_themselves),
           UNIT(a_line_holds_time_level_who_and_text),
           UNIT(secrets_line_ends_and_bad_bytes_do_not_pass), UNIT(lines_go_where_they_are_led),
           UNIT(long_lines_are_cut), UNIT(for_machines_a_line_is_one_object),
           UNIT(for_a_terminal_a_line_is_short), UNIT(a_line_breaks_at_the_terminals_width),
           UNIT(levels_have_colours_on_a_terminal),
           UNIT(a_listener_hears_what_is_said_without_secrets))
