#include "tests/support/unit.h"
#include "tests/unit/trainer/app/options/flag_wishes.h"
#include "trainer/app/options/flag_print.h"

#include <stdlib.h>
#include <string.h>

/* Printed forms of flags, with the table of flag_wishes.h: help with its columns and defaults, and
 * the table of a report. Everything is printed to memory and compared as text. */

/* A number shows its placeholder and its default, a choice all that can be chosen. */
static void help_shows_value_choices_and_default(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    flags_print(out, flags, COUNT, FIRST, 0, NULL);
    CU_ASSERT_EQUAL(fclose(out), 0);
    ASSERT_CONTAINS(text, "--max-count N");
    ASSERT_CONTAINS(text, "how many [7]");
    ASSERT_CONTAINS(text, "--color red|green");
    free(text);
}

/* A line for each flag: its name before column 28, its meaning after it and, beyond 79 columns,
 * below. Names of 21 and 22 letters are on either side of the limit, and one help ends exactly at
 * the edge. A flag of the other command is not shown, nor a default where there is none. */
static void help_is_laid_out_in_two_columns(void) {
    static const struct flag rows[] = {
        {.name = "share",
         .type = FLAG_REAL,
         .standard = "0.5",
         .commands = FIRST,
         .value = "X",
         .help = "how much"},
        {.name = "name", .type = FLAG_TEXT, .commands = FIRST, .value = "NAME", .help = "of whom"},
        {.name = "other",
         .type = FLAG_TEXT,
         .commands = SECOND,
         .value = "NAME",
         .help = "of none"},
        {.name = "twenty-one-letters-in",
         .type = FLAG_TEXT,
         .commands = FIRST,
         .value = "N",
         .help = "beside it"},
        {.name = "twenty-two-letters-are",
         .type = FLAG_TEXT,
         .commands = FIRST,
         .value = "N",
         .help = "below it"},
        {.name = "long",
         .type = FLAG_INT,
         .standard = "5",
         .commands = FIRST,
         .value = "N",
         .help = "twenty-five-columns-are-, and-so-it-ends-at-the-ed- "
                 "where-one-more-begins-that-leaves-no-room-behind-"},
        {.name = "color",
         .type = FLAG_CHOICE,
         .choices = colors,
         .commands = FIRST,
         .help = "which"},
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    flags_print(out, rows, sizeof(rows) / sizeof(rows[0]), FIRST, 0, NULL);
    CU_ASSERT_EQUAL(fclose(out), 0);
    CU_ASSERT_STRING_EQUAL(text, "  --share X                 how much [0.5]\n"
                                 "  --name NAME               of whom\n"
                                 "  --twenty-one-letters-in N beside it\n"
                                 "  --twenty-two-letters-are N\n"
                                 "                            below it\n"
                                 "  --long N                  twenty-five-columns-are-, "
                                 "and-so-it-ends-at-the-ed-\n"
                                 "                            "
                                 "where-one-more-begins-that-leaves-no-room-behind-\n"
                                 "                            [5]\n"
                                 "  --color red|green         which\n");
    free(text);
}

/* Values that a recipe has set are shown as the defaults, others as the table has them, digit for
 * digit. */
static void help_shows_defaults_of_a_layer(void) {
    char *text = NULL;
    size_t size = 0;
    struct wishes w = {0};
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(flags_defaults(flags, COUNT, &w, NULL), 0);
    CU_ASSERT_EQUAL(flags_set(flags, COUNT, FIRST, "color", "red", &w, NULL), 0);
    flags_print(out, flags, COUNT, FIRST, 0, &w);
    CU_ASSERT_EQUAL(fclose(out), 0);
    ASSERT_CONTAINS(text, "of the hat [red]");
    ASSERT_CONTAINS(text, "how much [0.5]");
    free(text);
}

/* A value with a bar stays in its cell; a flag without a value has no row. SECOND has one flag
 * alone, so the whole table can be compared. */
static void a_table_has_a_row_for_each_value(void) {
    cleanup_buf struct buf out = {.max = 4096};
    struct wishes w = {0};
    CU_ASSERT_EQUAL(flags_defaults(flags, COUNT, &w, NULL), 0);
    CU_ASSERT_EQUAL(flags_table(&out, flags, COUNT, SECOND, &w, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "| flag | value |\n| --- | --- |\n| --share | 0.5 |\n");
    buf_consume(&out, out.size);
    CU_ASSERT_EQUAL(flags_table(&out, flags, COUNT, FIRST, &w, NULL), 0);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&out), "--name"));
    buf_consume(&out, out.size);
    w.name = "a|b";
    CU_ASSERT_EQUAL(flags_table(&out, flags, COUNT, FIRST, &w, NULL), 0);
    ASSERT_CONTAINS(buf_text(&out), "| --name | a\\|b |\n");
}

UNIT_SUITE("app.flag_print", UNIT(help_shows_value_choices_and_default),
           UNIT(help_is_laid_out_in_two_columns), UNIT(help_shows_defaults_of_a_layer),
           UNIT(a_table_has_a_row_for_each_value))
