#include "common/str.h"
#include "common/text/wrap.h"
#include "trainer/app/command/command.h"
#include "trainer/app/command/serve_parameters.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/device/roles.h"
#include "trainer/app/device/wait_policy.h"
#include "trainer/app/options/options.h"
#include "trainer/app/options/recipe.h"
#include "trainer/app/run/train.h"

#include <string.h>

/* Ranks with different command lines would wait for each other forever. */
static int same_command(struct comm *comm, int argc, char *const *argv, struct error *err) {
    uint64_t hash = str_hash(STR_HASH_START, RINGMASTER_VERSION, sizeof(RINGMASTER_VERSION));
    for (int i = 0; i < argc; i++)
        hash = str_hash(hash, argv[i], strlen(argv[i]) + 1);
    return ranks_agree(comm, "the command line or the version of ringtrain", hash, EXIT_CODE_CONFIG,
                       err);
}

/* Returns true if ARGV is a --recipe NAME and a bare --print, in any order. */
static bool wants_recipe(int argc, char *const *argv) {
    bool prints = false;
    for (int i = 0; i < argc; i++)
        prints = prints || strcmp(argv[i], "--print") == 0;
    return prints;
}

/* Prints the recipe as flags instead of training. */
static int print_recipe(int argc, char *const *argv, struct error *err) {
    const char *name = NULL;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--recipe=", 9) == 0)
            name = argv[i] + 9;
        else if (strcmp(argv[i], "--recipe") == 0 && i + 1 < argc)
            name = argv[++i];
        else if (strcmp(argv[i], "--print") != 0)
            return error_set(err, EXIT_CODE_USAGE,
                             "--print goes with --recipe NAME alone, not with '%.64s'", argv[i]);
    }
    if (name == NULL)
        return error_set(err, EXIT_CODE_USAGE, "--print needs --recipe NAME");
    const struct recipe *recipe = recipe_need(name, err);
    if (recipe == NULL)
        return -1;
    recipe_print_flags(stdout, recipe);
    return fflush(stdout) == 0
               ? EXIT_CODE_OK
               : error_set_errno(err, EXIT_CODE_CONFIG, "writing to standard output");
}

/* What this rank does in its role. */
static int take_part(const struct options *o, struct comm *comm, enum exit_code *ret_code,
                     struct error *err) {
    struct roles roles;
    if (roles_open(&roles, o, comm, err) != 0)
        return -1;
    if ((roles.serves ? serve_parameters(o, &roles, ret_code, err)
                      : train(o, &roles, ret_code, err)) != 0)
        return -1;
    roles_done(&roles);
    return 0;
}

int command_train(int argc, char *const *argv, struct error *err) {
    struct options options;
    if (wants_recipe(argc, argv))
        return print_recipe(argc, argv, err);
    struct comm *comm = NULL;
    enum exit_code code = EXIT_CODE_OK;
    if (options_parse(&options, COMMAND_TRAIN, argc, argv, err) != 0)
        return -1;
    wait_policy_settle((int)options.threads);
    if (ranks_open(options.comm, &comm, err) != 0)
        return -1;
    int result = same_command(comm, argc, argv, err);
    if (result == 0)
        result = device_settle(&options, comm, err);
    if (result == 0)
        result = take_part(&options, comm, &code, err);
    ranks_close(comm, result, err);
    return result == 0 ? (int)code : -1;
}

void command_train_help(FILE *out, int argc, char *const *argv) {
    wrap_printf(
        out, "usage: ringtrain train [--FLAG VALUE]...\n\n"
             "Trains a network: one that classifies on a folder of class folders or on shards, one "
             "that detects on a COCO set. Every flag takes a value; '-' and '_' are the same in "
             "names. Defaults stand in brackets. `--recipe NAME --print` prints a "
             "recipe as flags, with their sources.\n\n");
    options_print(out, COMMAND_TRAIN, argc, argv, device_has_cuda());
}
