#include "trainer/app/command/command.h"

#include "common/exit_code.h"
#include "tests/support/unit.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/options.h"

static void every_flag_and_code_is_an_item(void) {
    cleanup_buf struct buf text;
    size_t count = 0;
    buf_init(&text, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(command_manual(&text, NULL), 0);
    const struct flag *flags = options_flags(&count);
    CU_ASSERT(count > 80);
    for (size_t i = 0; i < count; i++) {
        char name[64] = "", line[128];
        size_t size = 0;
        if ((flags[i].commands & (COMMAND_TRAIN | COMMAND_EVAL | COMMAND_PREDICT)) == 0)
            continue;
        for (const char *at = flags[i].name; *at != '\0'; at++) {
            if (*at == '-')
                name[size++] = '\\';
            name[size++] = *at;
        }
        (void)snprintf(line, sizeof(line), "\n.B \\-\\-%s ", name);
        ASSERT_CONTAINS(buf_text(&text), line);
    }
    size_t codes = 0;
    const struct exit_code_row *rows = exit_code_table(&codes);
    for (size_t i = 0; i < codes; i++)
        CU_ASSERT_EQUAL(strstr(buf_text(&text), rows[i].meaning) != NULL, rows[i].trainer);
    ASSERT_CONTAINS(buf_text(&text), "resnet50, resnet101");
    ASSERT_CONTAINS(buf_text(&text), "  imagenet\\-90 ");
}

static void an_unknown_table_is_refused(void) {
    struct error err = {0};
    char word[] = "nothing";
    char *argv[] = {word, NULL};
    CU_ASSERT_EQUAL(command_docs(1, argv, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "unknown table \"nothing\"");
}

UNIT_SUITE("command.command_manual", UNIT(every_flag_and_code_is_an_item),
           UNIT(an_unknown_table_is_refused))
