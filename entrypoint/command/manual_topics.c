#include "entrypoint/command/manual_topics.h"

#include "common/exit_code.h"
#include "common/table.h"
#include "common/text/roff.h"
#include "entrypoint/job/settings.h"
#include "entrypoint/outcome/explain.h"

#include <stdio.h>

int manual_meaning(struct buf *ret, const char *help, size_t number, struct error *err) {
    char fallback[SETTINGS_DEFAULT_SIZE];
    settings_default(number, fallback);
    return buf_printf(ret, err, "%s%s", help, fallback);
}

/* A buffer for each variable is freed at the end of its turn. */
int manual_variables(struct buf *ret, struct error *err) {
    for (size_t i = 0;; i++) {
        const char *name = NULL;
        const char *help = settings_help(i, &name);
        if (help == NULL)
            return 0;
        cleanup_buf struct buf text;
        buf_init(&text, MANUAL_MEANING_MOST);
        if (manual_meaning(&text, help, i, err) != 0 ||
            roff_item(ret, name, "", buf_text(&text), err) != 0)
            return -1;
    }
}

/* The last two rows are no codes of the table: a program's own codes are passed on, and a signal's
 * is made from its number as shells do. */
static int add_other_codes(struct buf *ret, struct error *err) {
    if (roff_item(ret, "128+n", "", "the program died of signal n", err) != 0)
        return -1;
    return roff_item(ret, "other", "", "the program's own code (its 130 becomes 1)", err);
}

int manual_codes(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct exit_code_row *codes = exit_code_table(&count);
    for (size_t i = 0; i < count; i++) {
        char number[16];
        (void)snprintf(number, sizeof(number), "%d", codes[i].code);
        if (roff_item(ret, number, "", codes[i].meaning, err) != 0)
            return -1;
    }
    return add_other_codes(ret, err);
}

/* A paragraph at the indent of the item before it: "you see: ...". */
static int add_part(struct buf *ret, const char *name, const char *text, struct error *err) {
    cleanup_buf struct buf line;
    buf_init(&line, 4 * MANUAL_MEANING_MOST);
    return buf_printf(&line, err, "%s: %s", name, text) != 0 || buf_add_text(ret, ".IP\n", err) != 0
               ? -1
               : roff_text(ret, buf_text(&line), err);
}

/* What `ringmaster explain` says of a code that is in its table. */
static int add_explained_codes(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct exit_code_row *codes = exit_code_table(&count);
    for (size_t i = 0; i < count; i++) {
        char number[16], both[64];
        (void)snprintf(number, sizeof(number), "%d", codes[i].code);
        (void)snprintf(both, sizeof(both), "%d, %s", codes[i].code, codes[i].class_name);
        const struct explain_row *row = explain_find(number);
        if (roff_item(ret, both, "", codes[i].meaning, err) != 0)
            return -1;
        if (row != NULL && (add_part(ret, "you see", row->see, err) != 0 ||
                            add_part(ret, "because", row->why, err) != 0 ||
                            add_part(ret, "do", row->act, err) != 0))
            return -1;
    }
    return add_other_codes(ret, err);
}

static const struct topic {
    const char *name, *summary, *words;
    int (*print)(struct buf *ret, struct error *err);
} topics[] = {
    {"environment", "variables that ringmaster reads",
     "An empty value counts as not set. Whole numbers may be written as 32, 32.0 or 1e3. A "
     "variable "
     "RINGMASTER_* that is not in this list is an error (65), so that a misspelt setting is never "
     "ignored.",
     manual_variables},
    {"exit-codes", "exit codes of a job, and what to do about them",
     "All containers of a job exit with the same code, except one that was killed itself. The word "
     "after a number is its class, with which /opt/ml/output/failure begins.",
     add_explained_codes},
};

int manual_topic(const char *name, struct buf *ret, struct error *err) {
    const struct topic *topic = TABLE_FIND(topics, name, name);
    char page[64];
    if (topic == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "man: no page \"%.64s\"; expected environment or exit-codes", name);
    (void)snprintf(page, sizeof(page), "ringmaster-%s", topic->name);
    if (roff_head(ret, page, 7, "ringmaster", RINGMASTER_VERSION, topic->summary, err) != 0 ||
        roff_section(ret, "DESCRIPTION", err) != 0 || roff_text(ret, topic->words, err) != 0 ||
        topic->print(ret, err) != 0 || roff_section(ret, "SEE ALSO", err) != 0)
        return -1;
    return buf_add_text(ret, ".BR ringmaster (1)\n", err);
}
