/* Man page sections on flags, recipes and exit codes, from the program's own tables. */
#include "common/exit_code.h"
#include "common/text/roff.h"
#include "trainer/app/command/command.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/options.h"
#include "trainer/app/options/recipe.h"
#include "trainer/models/model.h"

#include <stdio.h>
#include <stdlib.h>

static int add_flags(struct buf *ret, const char *title, unsigned command, struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    if (roff_section(ret, title, err) != 0)
        return -1;
    return flags_manual(ret, flags, count, command, err);
}

static int add_codes(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct exit_code_row *codes = exit_code_table(&count);
    if (roff_section(ret, "EXIT STATUS", err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        char number[16];
        if (!codes[i].trainer)
            continue;
        (void)snprintf(number, sizeof(number), "%d", codes[i].code);
        if (roff_item(ret, number, "", codes[i].meaning, err) != 0)
            return -1;
    }
    return 0;
}

/* Adds one line for each recipe, as in the help. */
static int add_recipes(struct buf *ret, struct error *err) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return error_no_memory(err, "the recipes");
    recipe_print(out, MODEL_CLASSIFY | MODEL_DETECT);
    int failed = fclose(out) != 0 ? error_no_memory(err, "the recipes") : 0;
    if (failed == 0)
        failed = buf_add_text(ret, ".SH RECIPES\n.nf\n", err) != 0 ||
                 roff_text(ret, text, err) != 0 || buf_add_text(ret, ".fi\n", err) != 0;
    free(text);
    return failed != 0 ? -1 : 0;
}

int command_manual(struct buf *ret, struct error *err) {
    if (buf_add_text(ret, ".PP\n", err) != 0 ||
        roff_text(ret, "Every flag takes a value; '-' and '_' are the same in names.", err) != 0 ||
        add_flags(ret, "FLAGS OF TRAIN", COMMAND_TRAIN, err) != 0 ||
        add_flags(ret, "FLAGS OF EVAL", COMMAND_EVAL, err) != 0 ||
        add_flags(ret, "FLAGS OF PREDICT", COMMAND_PREDICT, err) != 0 ||
        add_flags(ret, "FLAGS OF SERVE", COMMAND_SERVE, err) != 0)
        return -1;
    if (roff_section(ret, "MODELS", err) != 0 ||
        roff_text(ret, model_names(MODEL_CLASSIFY | MODEL_DETECT), err) != 0 ||
        add_recipes(ret, err) != 0)
        return -1;
    if (roff_section(ret, "OTHER COMMANDS", err) != 0 ||
        roff_text(ret, "ringtrain COMMAND --help describes the flags of the other commands.",
                  err) != 0)
        return -1;
    return add_codes(ret, err);
}
