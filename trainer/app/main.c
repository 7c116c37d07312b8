/* ringtrain: one table of commands, one place that prints errors, one place that exits. */
#include "app/command.h"
#include "common/exit_code.h"
#include "common/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    int (*run)(int argc, char *const *argv, struct error *err);
    void (*help)(FILE *out); /* NULL: the line below says all */
    const char *line;
};

static const struct command COMMANDS[] = {
    {"train", command_train, command_train_help, "train a network"},
    {"eval", command_eval, command_eval_help, "score a trained network"},
    {"prepare", command_prepare, command_prepare_help, "write sample data"},
    {"inspect", command_inspect, command_inspect_help, "show what would run"},
    {"draw", command_draw, command_draw_help, "paint a data set's objects on its pictures"},
    {"version", command_version, NULL, "say what this build has"},
};

enum { COMMAND_COUNT = sizeof(COMMANDS) / sizeof(COMMANDS[0]) };

static void print_help(FILE *out) {
    fprintf(out, "usage: ringtrain COMMAND [ARGUMENTS]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].line);
    fprintf(out, "\nringtrain COMMAND --help says more.\n\nexit codes:\n");
    exit_code_print(out);
}

static int print_command_help(const struct command *command) {
    if (command->help == NULL)
        printf("usage: ringtrain %s\n", command->name);
    else
        command->help(stdout);
    printf("\nexit codes:\n");
    exit_code_print(stdout);
    return 0;
}

static int is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static const struct command *find(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(COMMANDS[i].name, name) == 0)
            return &COMMANDS[i];
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 2 || is_help(argv[1])) {
        print_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_CODE_USAGE : EXIT_CODE_OK;
    }
    const struct command *command = find(argv[1]);
    if (command == NULL) {
        fprintf(stderr, "ringtrain: unknown command '%.64s'\n", argv[1]);
        print_help(stderr);
        return EXIT_CODE_USAGE;
    }
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0)
            return print_command_help(command);

    struct error err = {0};
    int code = command->run(argc - 2, argv + 2, &err);
    if (code >= 0)
        return code;
    log_error("%s", err.text);
    /* Not through exit: a communication thread may sit in a call that never returns, and handlers
     * of its library must not wait for it. Nor through fflush(NULL), which would wait for a stream
     * that it holds. */
    (void)fflush(stdout);
    _exit(err.code != EXIT_CODE_OK ? (int)err.code : EXIT_CODE_INTERNAL);
}
