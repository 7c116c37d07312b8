#include "entrypoint/command/trainer_flags.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char program[4096];

/* What comes of WORDS, for a trainer that prints HELP. */
static int check(const char *help, const char *const *words, struct error *err) {
    char script[1024];
    struct job job = {.program = {.is_trainer = true}};
    (void)snprintf(program, sizeof(program), "%s/ringtrain", unit_temp_dir());
    (void)snprintf(script, sizeof(script), "#!/bin/sh\n[ \"$*\" = 'train --help' ] || exit 9\n%s",
                   help);
    CU_ASSERT_EQUAL(file_publish(program, script, strlen(script), 0755, NULL), 0);
    CU_ASSERT_EQUAL(argv_add(&job.program.argv, program, NULL), 0);
    CU_ASSERT_EQUAL(argv_add_all(&job.program.user_args, words, NULL), 0);
    int result = trainer_flags_check(&job, err);
    user_program_done(&job.program);
    return result;
}

static const char help[] = "echo 'usage: x'; echo '  --data DIR     where'; echo '        --not a "
                           "flag'; echo '  --batch-size N  images'; echo '  --lr X'\n";

static void known_flags_are_taken_in_all_spellings(void) {
    static const char *const words[] = {"--data",       "--dta",      "--batch_size=3",
                                        "--batch-size", "-1",         "--lr",
                                        "--lr",         "positional", NULL};
    CU_ASSERT_EQUAL(check(help, words, NULL), 0);
}

static void an_unknown_one_is_named_with_the_nearest(void) {
    static const char *const near[] = {"--lr", "1", "--dta", "x", NULL};
    static const char *const far[] = {"--quantum=1", NULL};
    struct error err = {0};
    CU_ASSERT_EQUAL(check(help, near, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_STRING_EQUAL(err.text, "unknown flag --dta; did you mean --data? `ringtrain train "
                                     "--help` lists them");
    CU_ASSERT_EQUAL(check(help, far, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "unknown flag --quantum; `ringtrain train --help` lists them");
}

/* The stack of the next function holds no zeros by chance. */
static __attribute__((noinline)) void dirty_the_stack(void) {
    volatile char dirt[8192];
    for (size_t i = 0; i < sizeof(dirt); i++)
        dirt[i] = 0x55;
}

static void without_an_answer_nothing_is_wrong(void) {
    static const char *const words[] = {"--dta", "x", NULL};
    CU_ASSERT_EQUAL(check("exit 3", words, NULL), 0);
    CU_ASSERT_EQUAL(check("true", words, NULL), 0);
    struct job other = {0};
    dirty_the_stack();
    CU_ASSERT_EQUAL(trainer_flags_check(&other, NULL), 0);
}

UNIT_SUITE("entrypoint.trainer_flags", UNIT(known_flags_are_taken_in_all_spellings),
           UNIT(an_unknown_one_is_named_with_the_nearest), UNIT(without_an_answer_nothing_is_wrong))
