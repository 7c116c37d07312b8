#include "common/text/exit_code_print.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/exit_code.h"
#include "common/text/wrap.h"

static void print_row(FILE *out, const char *code, const char *meaning) {
    enum { COLUMN = 8, LINE_MAX_SIZE = 1024 };
    cleanup_buf struct buf line;
    buf_init(&line, LINE_MAX_SIZE);
    const struct wrap wrap = {.at = COLUMN, .indent = COLUMN, .width = WRAP_WIDTH};
    if (buf_printf(&line, NULL, "  %-*s", COLUMN - 2, code) == 0 &&
        wrap_add(&line, meaning, wrap, NULL) == 0)
        fprintf(out, "%s\n", buf_text(&line));
}

void exit_code_print(FILE *out, bool trainer) {
    size_t count = 0;
    const struct exit_code_row *table = exit_code_table(&count);
    for (size_t i = 0; i < count; i++) {
        char code[16];
        (void)snprintf(code, sizeof(code), "%d", table[i].code);
        if (!trainer || table[i].trainer)
            print_row(out, code, table[i].meaning);
    }
    if (trainer)
        return;
    print_row(out, "128+n", "the program died of signal n");
    print_row(out, "other", "the program's own code (its 130 becomes 1)");
}
