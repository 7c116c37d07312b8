/* Table of flags for tests, in which each type occurs once.
 *
 * Two commands share it; only "share" is a flag of both. */
#ifndef TESTS_UNIT_TRAINER_APP_OPTIONS_FLAG_WISHES_H
#define TESTS_UNIT_TRAINER_APP_OPTIONS_FLAG_WISHES_H

#include "trainer/app/options/flag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A field for each type of flag. */
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

#endif
