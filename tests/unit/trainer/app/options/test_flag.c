#include "tests/support/unit.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define W(text) ((char[]){text})

struct wishes {
    int64_t count;
    double share;
    bool loud;
    const char *name;
    int color;
};

static const char *const colors[] = {"red", "green", NULL};

enum { FIRST = 1, SECOND = 2 };

static const struct flag flags[] = {
    {.name = "max-count",
     .type = FLAG_INT,
     .offset = offsetof(struct wishes, count),
     .standard = "7",
     .min = 1,
     .max = 100,
     .commands = FIRST,
     .value = "N",
     .help = "how many"},
    {.name = "share",
     .type = FLAG_REAL,
     .offset = offsetof(struct wishes, share),
     .standard = "0.5",
     .min = 0,
     .max = 1,
     .commands = FIRST | SECOND,
     .value = "X",
     .help = "how much"},
    {.name = "loud",
     .type = FLAG_BOOL,
     .offset = offsetof(struct wishes, loud),
     .standard = "false",
     .commands = FIRST,
     .value = "BOOL",
     .help = "shout"},
    {.name = "name",
     .type = FLAG_TEXT,
     .offset = offsetof(struct wishes, name),
     .commands = FIRST,
     .value = "NAME",
     .help = "whom to greet"},
    {.name = "color",
     .type = FLAG_CHOICE,
     .offset = offsetof(struct wishes, color),
     .standard = "green",
     .choices = colors,
     .commands = FIRST,
     .help = "of the hat"},
};
enum { COUNT = sizeof(flags) / sizeof(flags[0]) };

static int parse(struct wishes *w, struct error *err, const char *const *words) {
    int argc = 0;
    while (words[argc] != NULL)
        argc++;
    *w = (struct wishes){0};
    *err = (struct error){0};
    return flags_parse(flags, COUNT, FIRST, argc, (char *const *)(uintptr_t)words, w, err);
}
#define PARSE(...) parse(&w, &err, (const char *const[]){__VA_ARGS__, NULL})

static void defaults_come_first(void) {
    struct wishes w;
    struct error err;
    CU_ASSERT_EQUAL(parse(&w, &err, (const char *const[]){NULL}), 0);
    CU_ASSERT(w.count == 7 && w.share == 0.5 && !w.loud && w.name == NULL && w.color == 1);
}

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

/* Advice on the data of a training helps no other command. */
static void hints_for_networks_are_printed_where_there_is_one(void) {
    struct wishes w;
    struct error err;
    CU_ASSERT_EQUAL(PARSE("--images", "1"), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "unknown flag --images");
}

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

static void a_command_knows_its_own_flags_alone(void) {
    struct wishes w = {0};
    struct error err = {0};
    char flag[] = "--loud";
    char value[] = "1";
    char *const argv[] = {flag, value, NULL};
    CU_ASSERT_EQUAL(flags_parse(flags, COUNT, SECOND, 2, argv, &w, &err), -1);
    ASSERT_CONTAINS(err.text, "--loud: this command has no such flag");
}

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
}

static void what_is_given_is_the_last_of_its_name(void) {
    const char *const words[] = {"--name", "--share", "x", "--share=0.5", "--name=b", "--share"};
    char *const *argv = (char *const *)(uintptr_t)words;
    CU_ASSERT_STRING_EQUAL(flags_given(flags, COUNT, FIRST, "name", 6, argv), "b");
    CU_ASSERT_STRING_EQUAL(flags_given(flags, COUNT, FIRST, "name", 2, argv), "--share");
    CU_ASSERT_STRING_EQUAL(flags_given(flags, COUNT, FIRST, "share", 6, argv), "0.5");
    CU_ASSERT_PTR_NULL(flags_given(flags, COUNT, FIRST, "loud", 6, argv));
    CU_ASSERT_PTR_NULL(flags_given(flags, COUNT, SECOND, "name", 6, argv));
}

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
