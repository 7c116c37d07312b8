#include "common/text/nearest.h"
#include "common/text/wrap.h"
#include "trainer/app/command/coco/command_coco.h"
#include "trainer/app/command/command.h"
#include "trainer/app/command/command_inspect_data.h"
#include "trainer/app/plan/command_inspect_plan.h"

#include <string.h>

int command_inspect(int argc, char *const *argv, struct error *err) {
    if (argc > 0 && strcmp(argv[0], "plan") == 0)
        return command_inspect_plan(argc - 1, argv + 1, err);
    if (argc > 0 && strcmp(argv[0], "coco") == 0)
        return command_inspect_coco(argc - 1, argv + 1, err);
    if (argc > 0 && strcmp(argv[0], "data") == 0)
        return command_inspect_data(argc - 1, argv + 1, err);
    if (argc == 1 && strcmp(argv[0], "--cuda") == 0)
        return command_inspect_cuda(err);
    static const char *const kinds[] = {"plan", "data", "coco", "--cuda"};
    const char *word = argc > 0 ? argv[0] : "";
    struct nearest nearest = nearest_begin(word, strlen(word));
    char words[NEAREST_WORDS_MAX];
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        nearest_try(&nearest, kinds[i]);
    return error_set(
        err, EXIT_CODE_USAGE,
        "usage: ringtrain inspect plan|data|coco [--FLAG VALUE]..., or inspect --cuda%s",
        nearest_words(&nearest, words));
}

void command_inspect_help(FILE *out, int argc, char *const *argv) {
    command_inspect_plan_help(out, argc, argv);
    wrap_printf(
        out,
        "usage: ringtrain inspect --cuda\n\nPrints driver, libraries and GPUs, as this program was "
        "built with and as it finds them; exits with %d if it cannot train on GPUs here.\n\n",
        EXIT_CODE_DEVICE);
    command_inspect_data_help(out);
    command_inspect_coco_help(out);
}
