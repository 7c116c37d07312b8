#include "entrypoint/command/manual_topics.h"

#include "common/exit_code.h"
#include "entrypoint/job/settings.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct buf text;

static const char *page(const char *name) {
    buf_done(&text);
    buf_init(&text, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(manual_topic(name, &text, NULL), 0);
    return buf_text(&text);
}

/* Lines that begin like a request of roff are those that the pages are made of. */
static void check_requests(const char *lines) {
    static const char *const known[] = {".TH ", ".SH ", ".TP\n", ".B ", ".BR ", ".IP\n"};
    for (const char *at = lines; *at != '\0'; at += strcspn(at, "\n") + 1) {
        bool ours = *at != '.' && *at != '\'';
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            ours |= strncmp(at, known[i], strlen(known[i])) == 0;
        CU_ASSERT(ours);
    }
}

static void every_variable_is_in_the_page_of_the_environment(void) {
    const char *lines = page("environment");
    const char *name = NULL;
    size_t count = 0;
    CU_ASSERT_EQUAL(strncmp(lines, ".TH RINGMASTER-ENVIRONMENT 7 ", 29), 0);
    for (; settings_help(count, &name) != NULL; count++) {
        char line[128];
        (void)snprintf(line, sizeof(line), "\n.TP\n.B %s\n", name);
        ASSERT_CONTAINS(lines, line);
    }
    CU_ASSERT(count > 20); /* a list that ends too early would pass otherwise */
    ASSERT_CONTAINS(lines, " (default 7070)\n");
    check_requests(lines);
}

/* Codes have their class, and what `ringmaster explain` says of them, where it does. */
static void every_exit_code_is_explained_in_the_page_of_them(void) {
    const char *lines = page("exit-codes");
    size_t count = 0;
    const struct exit_code_row *codes = exit_code_table(&count);
    CU_ASSERT_EQUAL(strncmp(lines, ".TH RINGMASTER-EXIT-CODES 7 ", 28), 0);
    for (size_t i = 0; i < count; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "\n.TP\n.B %d, ", codes[i].code);
        ASSERT_CONTAINS(lines, line);
    }
    const char *lost = strstr(lines, "\n.B 73, host\\-lost\na host was lost ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(lost);
    ASSERT_CONTAINS(lost, "\n.IP\nyou see: ");
    CU_ASSERT(strstr(lost, "\n.IP\nbecause: ") < strstr(lost, "\n.B 74, "));
    ASSERT_CONTAINS(lines, "\n.B 128+n\n");
    check_requests(lines);
}

static void another_subject_is_refused(void) {
    struct error err = {0};
    cleanup_buf struct buf none = {.max = 100};
    CU_ASSERT_EQUAL(manual_topic("ports", &none, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "man: no page \"ports\"; expected environment or exit-codes");
    CU_ASSERT_EQUAL(manual_topic("exit-codes", &none, &err), -1); /* a buffer that is too small */
    buf_done(&text);
}

UNIT_SUITE("entrypoint.manual_topics", UNIT(every_variable_is_in_the_page_of_the_environment),
           UNIT(every_exit_code_is_explained_in_the_page_of_them), UNIT(another_subject_is_refused))
