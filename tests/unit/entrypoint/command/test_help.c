#include "entrypoint/command/help.h"

#include "common/exit_code.h"
#include "tests/unit/entrypoint/command/printed_words.h"

static void what_follows_two_dashes_is_the_programs(void) {
    const char *const none[] = {NULL}, *const asked[] = {"a", "--help", NULL},
                      *const briefly[] = {"-h", NULL}, *const later[] = {"--", "--help", NULL};
    CU_ASSERT_FALSE(help_is_asked(none));
    CU_ASSERT_TRUE(help_is_asked(asked));
    CU_ASSERT_TRUE(help_is_asked(briefly));
    CU_ASSERT_FALSE(help_is_asked(later));
}

static void several_words_are_one_line_to_explain(void) {
    const char *const code[] = {"mpi:15", NULL}, *const line[] = {"no", "such", "words", NULL};
    struct error err = {0};
    cleanup_buf struct buf printed;
    buf_init(&printed, 65536);
    CU_ASSERT_EQUAL(printed_words(help_explain, code, &printed, &err), EXIT_CODE_OK);
    ASSERT_CONTAINS(buf_text(&printed), "mpi:15");
    CU_ASSERT_EQUAL(help_explain(line, &err), -1);
    ASSERT_CONTAINS(err.text, "no such words: not known");
}

static void a_command_has_its_own_help(void) {
    const char *const words[] = {"train", NULL}, *const wrong[] = {"trian", NULL};
    struct error err = {0};
    cleanup_buf struct buf printed;
    buf_init(&printed, 65536);
    CU_ASSERT_EQUAL(printed_words(help_run, words, &printed, &err), EXIT_CODE_OK);
    ASSERT_CONTAINS(buf_text(&printed), "ringmaster train -- PROGRAM ARGS");
    CU_ASSERT_EQUAL(help_run(wrong, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "did you mean train?");
}

UNIT_SUITE("entrypoint.help", UNIT(what_follows_two_dashes_is_the_programs),
           UNIT(several_words_are_one_line_to_explain), UNIT(a_command_has_its_own_help))
