#include "entrypoint/command/command_output.h"

#include "common/exit_code.h"
#include "tests/unit/entrypoint/command/printed_words.h"

static int print_twice(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (buf_add_text(&text, words[0], err) != 0)
        return -1;
    (void)command_output_print(&text);
    return command_output_print(&text);
}

static void a_text_is_printed_whole(void) {
    const char *const words[] = {"a%s\n", NULL};
    struct error err = {0};
    cleanup_buf struct buf printed;
    buf_init(&printed, 4096);
    CU_ASSERT_EQUAL(printed_words(print_twice, words, &printed, &err), EXIT_CODE_OK);
    CU_ASSERT_STRING_EQUAL(buf_text(&printed), "a%s\na%s\n");
}

UNIT_SUITE("entrypoint.command_output", UNIT(a_text_is_printed_whole))
