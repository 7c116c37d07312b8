#include "trainer/app/options/flag_print.h"

#include "common/json/json_text.h"
#include "common/text/roff.h"
#include "common/text/wrap.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Every form is made from the rows of the table, so that no page can name a flag or a default that
 * the parser does not have. Records (flags_print_value, flags_json, flags_table) print what a
 * filled struct holds. Help, reference pages and the man page print the table itself; only the help
 * of `train`, `eval` and the like puts the defaults of a recipe or network in place of the table's.
 *
 * A flag may have several rows, one for each task. Records take the first of them, as type and
 * field are the same in all. The help of flags_print joins their texts. flags_page prints the rows
 * of one set of tasks at a time, and flags_manual prints each row. */

/* Ceilings in bytes, but for HELP_COLUMN. */
enum {
    /* Ceilings of buffers on the stack; a name or value that is longer is cut off. */
    NAME_MAX_SIZE = 48,
    SHOWN_MAX = 128,
    /* The column at which the meaning of a flag begins; a longer head has a line of its own. */
    HELP_COLUMN = 28,
    MEANING_MAX = 4096,
    JSON_VALUE_MAX = 64 * 1024
};

/* Prints the shortest of 15, 16 or 17 digits that reads back as the same double: 15 digits suffice
 * for what a person has typed, 17 for every double. "0.1" thus stays "0.1" in a record. */
static int print_real(struct buf *out, double value, struct error *err) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return buf_add_text(out, text, err);
}

/* Prints the field of F in the form that set_value of flag.c parses back. Text that is not set
 * prints as nothing, like an empty one. */
static int print_field(struct buf *out, const struct flag *f, const void *from, struct error *err) {
    const void *field = (const char *)from + f->offset;
    switch (f->type) {
    case FLAG_TEXT: {
        const char *text = *(const char *const *)field;
        return buf_add_text(out, text != NULL ? text : "", err);
    }
    case FLAG_INT:
        return buf_printf(out, err, "%" PRId64, *(const int64_t *)field);
    case FLAG_REAL:
        return print_real(out, *(const double *)field, err);
    case FLAG_BOOL:
        return buf_add_text(out, *(const bool *)field ? "true" : "false", err);
    case FLAG_CHOICE:
        return buf_add_text(out, f->choices[*(const int *)field], err);
    }
    return error_set(err, EXIT_CODE_INTERNAL, "flag --%s has no type", f->name);
}

/* NAME is looked up among the rows of all commands. A name that no row has is a fault of the
 * caller, not of the user. */
int flags_print_value(struct buf *out, const struct flag *flags, size_t count, const char *name,
                      const void *from, struct error *err) {
    const struct flag *f = flags_find(flags, count, ~0U, name);
    if (f == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "unknown flag --%s", name);
    return buf_printf(out, err, "%s=", name) != 0 ? -1 : print_field(out, f, from, err);
}

/* The object has every flag of COMMAND, those without a value as "". All values are strings,
 * numbers as well, in the form that the command line takes. */
int flags_json(struct buf *out, const struct flag *flags, size_t count, unsigned command,
               const void *from, struct error *err) {
    const char *before = "{";
    for (size_t i = 0; i < count; i++) {
        cleanup_buf struct buf value = {0};
        const struct flag *f = &flags[i];
        /* Only the first row of a flag prints it: a key must not occur twice in an object. */
        if (flags_find(flags, count, command, f->name) != f)
            continue;
        buf_init(&value, JSON_VALUE_MAX);
        if (print_field(&value, f, from, err) != 0 ||
            buf_printf(out, err, "%s\"%s\":", before, f->name) != 0 ||
            json_text_quote(out, buf_text(&value), value.size, err) != 0)
            return -1;
        before = ",";
    }
    return buf_add_text(out, before[0] == '{' ? "{}" : "}", err);
}

/* Appends a cell of a Markdown table, in which a bare '|' would end the cell; Markdown reads "\|"
 * as the character itself. */
static int add_cell(struct buf *out, const char *text, struct error *err) {
    for (; *text != '\0'; text++)
        if ((*text == '|' && buf_add_text(out, "\\", err) != 0) || buf_add(out, text, 1, err) != 0)
            return -1;
    return 0;
}

int flags_table(struct buf *out, const struct flag *flags, size_t count, unsigned command,
                const void *from, struct error *err) {
    if (buf_add_text(out, "| flag | value |\n| --- | --- |\n", err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        cleanup_buf struct buf value = {0};
        const struct flag *f = &flags[i];
        if (flags_find(flags, count, command, f->name) != f)
            continue;
        buf_init(&value, JSON_VALUE_MAX);
        if (print_field(&value, f, from, err) != 0)
            return -1;
        /* A flag without a value, such as a folder that was not given, has no row. */
        if (value.size > 0 &&
            (buf_printf(out, err, "| --%s | ", f->name) != 0 ||
             add_cell(out, buf_text(&value), err) != 0 || buf_add_text(out, " |\n", err) != 0))
            return -1;
    }
    return 0;
}

/* Writes the choices as "red|green", or the placeholder of the value. The loop ends when the text
 * is full, as snprintf returns the length that it would have needed. */
static void value_text(const struct flag *f, char text[SHOWN_MAX]) {
    size_t used = 0;
    (void)snprintf(text, SHOWN_MAX, "%s", f->type == FLAG_CHOICE ? "" : f->value);
    for (int i = 0; f->type == FLAG_CHOICE && f->choices[i] != NULL && used < SHOWN_MAX; i++)
        used += (size_t)snprintf(text + used, SHOWN_MAX - used, "%s%s", i > 0 ? "|" : "",
                                 f->choices[i]);
}

/* Writes "[VALUE]": the value of F in FROM, else the table's default. A number that equals the
 * table's default is printed as the table spells it ("1e-4"). To compare them, the default is
 * parsed into a field of its own by a copy of the row with offset 0, and both are printed in the
 * same form. */
static void default_text(const struct flag *f, const void *from, char text[SHOWN_MAX]) {
    cleanup_buf struct buf value = {0}, standard = {0};
    union {
        int64_t integer;
        double real;
        bool truth;
        int choice;
        const char *text;
    } field = {0};
    struct flag alone = *f;
    alone.offset = 0;
    buf_init(&value, SHOWN_MAX);
    buf_init(&standard, SHOWN_MAX);
    (void)snprintf(text, SHOWN_MAX, "[%s]", f->standard);
    if (from == NULL || print_field(&value, f, from, NULL) != 0 ||
        flags_defaults(&alone, 1, &field, &(struct error){0}) != 0 ||
        print_field(&standard, &alone, &field, NULL) != 0)
        return;
    if (strcmp(buf_text(&value), buf_text(&standard)) != 0)
        (void)snprintf(text, SHOWN_MAX, "[%s]", buf_text(&value));
}

/* Prints the help and the default from HELP_COLUMN on, wrapped with that indent. A text that does
 * not fit into MEANING_MAX prints nothing. */
static void print_meaning(FILE *out, const char *help, const char *standard) {
    cleanup_buf struct buf text, lines;
    const struct wrap wrap = {.at = HELP_COLUMN, .indent = HELP_COLUMN, .width = WRAP_WIDTH};
    buf_init(&text, MEANING_MAX);
    buf_init(&lines, MEANING_MAX);
    if (buf_printf(&text, NULL, "%s%s%s", help, standard[0] != '\0' ? " " : "", standard) == 0 &&
        wrap_add(&lines, buf_text(&text), wrap, NULL) == 0)
        fprintf(out, "%s\n", buf_text(&lines));
}

/* Returns true if COMMAND has the row and one of TASKS may use it; TASKS 0 are all. */
static bool applies(const struct flag *f, unsigned command, unsigned tasks) {
    return (f->commands & command) != 0 && (tasks == 0 || f->tasks == 0 || (f->tasks & tasks) != 0);
}

/* Appends the helps of all rows named as the first of the COUNT in FLAGS. */
static int add_helps(struct buf *ret, const struct flag *flags, size_t count, unsigned command,
                     unsigned tasks) {
    for (size_t i = 0; i < count; i++)
        if (applies(&flags[i], command, tasks) && strcmp(flags[i].name, flags->name) == 0 &&
            buf_printf(ret, NULL, "%s%s", i > 0 ? "; " : "", flags[i].help) != 0)
            return -1;
    return 0;
}

void flags_print(FILE *out, const struct flag *flags, size_t count, unsigned command,
                 unsigned tasks, const void *from) {
    for (size_t i = 0; i < count; i++) {
        const struct flag *f = &flags[i];
        char value[SHOWN_MAX];
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before = before ||
                     (applies(&flags[k], command, tasks) && strcmp(flags[k].name, f->name) == 0);
        /* Rows of one flag are joined in the place of the first that applies. */
        if (before || !applies(f, command, tasks))
            continue;
        cleanup_buf struct buf helps;
        buf_init(&helps, MEANING_MAX);
        value_text(f, value);
        /* A head that reaches into the column of the help is followed by a line break, and WIDTH is
         * 0 then: fprintf returns 1 for the newline. */
        int width = fprintf(out, "  --%s %s", f->name, value);
        if (width >= HELP_COLUMN)
            width = fprintf(out, "\n") - 1;
        fprintf(out, "%*s", HELP_COLUMN - width, "");
        value[0] = '\0';
        if (f->standard != NULL)
            default_text(f, from, value);
        if (add_helps(&helps, f, count - i, command, tasks) == 0)
            print_meaning(out, buf_text(&helps), value);
    }
}

/* Prints TEXT in a table cell, with BAR instead of '|', which would end the cell. */
static void print_cell(FILE *out, const char *text, const char *bar) {
    for (; *text != '\0'; text++)
        if (*text == '|')
            fputs(bar, out);
        else
            fputc(*text, out);
}

/* TASKS is compared exactly here, unlike in flags_print: the reference has a table of flags for all
 * tasks (0), then one for each task (command_docs.c). The head is printed with the first row, so
 * that a command without such flags prints nothing at all. */
void flags_page(FILE *out, const struct flag *flags, size_t count, unsigned command,
                unsigned tasks) {
    const char *head = "| flag | value | default | meaning |\n| --- | --- | --- | --- |\n";
    for (size_t i = 0; i < count; i++) {
        const struct flag *f = &flags[i];
        char value[SHOWN_MAX];
        if ((f->commands & command) == 0 || f->tasks != tasks)
            continue;
        value_text(f, value);
        fprintf(out, "%s| `--%s` | ", head, f->name);
        print_cell(out, value, ", ");
        fprintf(out, " | %s | ", f->standard != NULL ? f->standard : "");
        print_cell(out, f->help, "\\|");
        fprintf(out, " |\n");
        head = "";
    }
}

/* A row of its own for each task appears as an item of its own: the manual is not for one network,
 * and the help of such a row says which kind it is for. */
int flags_manual(struct buf *out, const struct flag *flags, size_t count, unsigned command,
                 struct error *err) {
    for (size_t i = 0; i < count; i++) {
        const struct flag *f = &flags[i];
        char name[NAME_MAX_SIZE + SHOWN_MAX + 4];
        char value[SHOWN_MAX];
        cleanup_buf struct buf text;
        buf_init(&text, 4096);
        if ((f->commands & command) == 0)
            continue;
        value_text(f, value);
        (void)snprintf(name, sizeof(name), "--%s %s", f->name, value);
        if (buf_add_text(&text, f->help, err) != 0 ||
            (f->standard != NULL && buf_printf(&text, err, " [%s]", f->standard) != 0) ||
            roff_item(out, name, "", buf_text(&text), err) != 0)
            return -1;
    }
    return 0;
}
