#include "tests/support/unit.h"
#include "tests/unit/trainer/app/options/flag_wishes.h"
#include "trainer/app/options/flag.h"

#include <stdint.h>
#include <string.h>

/* The parser with a table of its own (flag_wishes.h): what it accepts, what it refuses, and how its
 * messages lead to the right spelling. Printed forms are in test_flag_print.c, and words of other
 * trainers in test_flag_word.c. */

#define W(text) ((char[]){text})

/* Parses WORDS, which end with NULL, over a zeroed struct and error. */
static int parse(struct wishes *w, struct error *err, const char *const *words) {
    int argc = 0;
    while (words[argc] != NULL)
        argc++;
    *w = (struct wishes){0};
    *err = (struct error){0};
    return flags_parse(flags, COUNT, FIRST, argc, (char *const *)(uintptr_t)words, w, err);
}
#define PARSE(...) parse(&w, &err, (const char *const[]){__VA_ARGS__, NULL})

/* Text has no default here, and is NULL; a choice is an index. */
static void defaults_come_first(void) {
    struct wishes w;
    struct error err;
    CU_ASSERT_EQUAL(parse(&w, &err, (const char *const[]){NULL}), 0);
    CU_ASSERT(w.count == 7 && w.share == 0.5 && !w.loud && w.name == NULL && w.color == 1);
}

/* Both spellings of a name, both forms of a value, Python's spelling of true, and a value that
 * looks like a flag. The last value of a repeated flag counts, and a value may be empty. */
static void every_type_takes_its_value_either_way(void) {
    struct wishes w;
    struct error err;
    CU_ASSERT_EQUAL(PARSE("--max_count", "9", "--share=0.25", "--loud", "True", "--name", "--x",
                          "--color", "red"),
                    0);
    CU_ASSERT(w.count == 9 && w.share == 0.25 && w.loud && w.color == 0);
    CU_ASSERT_STRING_EQUAL(w.name, "--x");
    CU_ASSERT_EQUAL(PARSE("--max-count", "3", "--max_count=4", "--name="), 0);
    CU_ASSERT_EQUAL(w.count, 4);
    CU_ASSERT_STRING_EQUAL(w.name, "");
}

/* Two letters exchanged are near; "zebra" is near to nothing, so nothing is suggested. The name
 * alone is looked at: the value may be any. */
static void an_unknown_flag_offers_the_nearest_name(void) {
    struct wishes w;
    struct error err;
    CU_ASSERT_EQUAL(PARSE("--max-cuont", "9"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "did you mean --max-count?");
    CU_ASSERT_EQUAL(PARSE("--zebra", "9"), -1);
    ASSERT_CONTAINS(err.text, "unknown flag --zebra");
    CU_ASSERT_PTR_NULL(strstr(err.text, "did you mean"));
}

/* Advice on the data of a training helps no other command: the table has no flag "backend", by
 * which such a command is recognized. */
static void hints_for_networks_are_printed_where_there_is_one(void) {
    struct wishes w;
    struct error err;
    CU_ASSERT_EQUAL(PARSE("--images", "1"), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "unknown flag --images");
}

/* One beyond a bound, an unknown choice, words of other languages for true, no number, no value,
 * and words that are no flags. */
static void bad_values_name_flag_and_reason(void) {
    struct wishes w;
    struct error err;
    CU_ASSERT_EQUAL(PARSE("--max-count", "101"), -1);
    ASSERT_CONTAINS(err.text, "--max-count");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(PARSE("--color", "blue"), -1);
    ASSERT_CONTAINS(err.text, "unknown value 'blue'; expected one of red, green");
    CU_ASSERT_EQUAL(PARSE("--loud", "yes"), -1);
    CU_ASSERT_EQUAL(PARSE("--share", "nan"), -1);
    CU_ASSERT_EQUAL(PARSE("--share"), -1);
    ASSERT_CONTAINS(err.text, "--share needs a value (X)");
    CU_ASSERT_EQUAL(PARSE("stray"), -1);
    ASSERT_CONTAINS(err.text, "'stray' is not a flag");
    CU_ASSERT_EQUAL(PARSE("--"), -1);
}

/* A flag of another command is reported as such, without a suggestion. */
static void a_command_knows_its_own_flags_alone(void) {
    struct wishes w = {0};
    struct error err = {0};
    char flag[] = "--loud";
    char value[] = "1";
    char *const argv[] = {flag, value, NULL};
    CU_ASSERT_EQUAL(flags_parse(flags, COUNT, SECOND, 2, argv, &w, &err), -1);
    ASSERT_CONTAINS(err.text, "--loud: this command has no such flag");
}

/* The order of options_parse.c: defaults, then flags_set for each layer, then the line. flags_set
 * checks bounds and commands as the line does. */
static void a_layer_lies_above_the_defaults_and_below_the_words(void) {
    struct wishes w = {0};
    struct error err = {0};
    const char *const words[] = {"--share", "0.75"};
    CU_ASSERT_EQUAL(flags_defaults(flags, COUNT, &w, &err), 0);
    CU_ASSERT_EQUAL(flags_set(flags, COUNT, FIRST, "max-count", "9", &w, &err), 0);
    CU_ASSERT_EQUAL(flags_set(flags, COUNT, FIRST, "share", "0.25", &w, &err), 0);
    CU_ASSERT_EQUAL(flags_take(flags, COUNT, FIRST, 2, (char *const *)(uintptr_t)words, &w, &err),
                    0);
    CU_ASSERT(w.count == 9 && w.share == 0.75 && w.color == 1);
    CU_ASSERT_EQUAL(flags_set(flags, COUNT, FIRST, "max-count", "101", &w, &err), -1);
    ASSERT_CONTAINS(err.text, "--max-count");
    CU_ASSERT_EQUAL(flags_set(flags, COUNT, SECOND, "loud", "true", &w, &err), -1);
    CU_ASSERT_EQUAL(flags_set(flags, COUNT, FIRST, "max-count", "101", &w, NULL), -1);
}

/* "--share" after "--name" is its value, and "x" stands alone: a look-up passes over what it cannot
 * use. A flag at the end without a value gives none. */
static void what_is_given_is_the_last_of_its_name(void) {
    const char *const words[] = {"--name", "--share", "x", "--share=0.5", "--name=b", "--share"};
    char *const *argv = (char *const *)(uintptr_t)words;
    CU_ASSERT_STRING_EQUAL(flags_given(flags, COUNT, FIRST, "name", 6, argv), "b");
    CU_ASSERT_STRING_EQUAL(flags_given(flags, COUNT, FIRST, "name", 2, argv), "--share");
    CU_ASSERT_STRING_EQUAL(flags_given(flags, COUNT, FIRST, "share", 6, argv), "0.5");
    CU_ASSERT_PTR_NULL(flags_given(flags, COUNT, FIRST, "loud", 6, argv));
    CU_ASSERT_PTR_NULL(flags_given(flags, COUNT, SECOND, "name", 6, argv));
}

/* No table is involved: each flag takes the next word. After "--" all words are positional, a
 * second "--" as well. */
static void words_are_distinguished_from_flags_and_their_values(void) {
    const char *const line[] = {"a", "--name", "b", "--share=1", "c", "--", "--d", "--", "e"};
    char *flags_argv[9], *words[9];
    int flag_count = 0, count = 0;
    flags_split(9, (char *const *)(uintptr_t)line, flags_argv, &flag_count, words, &count);
    CU_ASSERT_EQUAL_FATAL(flag_count, 3);
    CU_ASSERT_STRING_EQUAL(flags_argv[1], "b");
    CU_ASSERT_STRING_EQUAL(flags_argv[2], "--share=1");
    CU_ASSERT_EQUAL_FATAL(count, 5);
    CU_ASSERT_STRING_EQUAL(words[1], "c");
    CU_ASSERT_STRING_EQUAL(words[2], "--d");
    CU_ASSERT_STRING_EQUAL(words[3], "--");
    flags_split(2, (char *const *)(uintptr_t)line, flags_argv, &flag_count, words, &count);
    CU_ASSERT(flag_count == 1 && count == 1); /* a flag without its value */
}

/* A longer name, a single dash and a word without dashes are other words. */
static void a_flag_is_seen_in_either_form(void) {
    char *const apart[] = {W("shapes"), W("--coco"), W("DIR")};
    char *const joined[] = {W("--coco=DIR")};
    char *const other[] = {W("--cocoa"), W("x"), W("coco"), W("-coco")};
    CU_ASSERT(flags_has_word(3, apart, "coco"));
    CU_ASSERT(flags_has_word(1, joined, "coco"));
    CU_ASSERT_FALSE(flags_has_word(4, other, "coco"));
    CU_ASSERT_FALSE(flags_has_word(0, other, "coco"));
}

UNIT_SUITE("app.flag", UNIT(defaults_come_first), UNIT(every_type_takes_its_value_either_way),
           UNIT(an_unknown_flag_offers_the_nearest_name),
           UNIT(hints_for_networks_are_printed_where_there_is_one),
           UNIT(bad_values_name_flag_and_reason), UNIT(a_command_knows_its_own_flags_alone),
           UNIT(a_layer_lies_above_the_defaults_and_below_the_words),
           UNIT(what_is_given_is_the_last_of_its_name),
           UNIT(words_are_distinguished_from_flags_and_their_values),
           UNIT(a_flag_is_seen_in_either_form))
