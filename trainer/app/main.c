/* ringtrain: one table of commands, one place that prints errors, one place that exits.
 *
 * A command gets the words after its name and returns an exit code, or -1 with an error
 * (command.h). Nothing below main prints an error or exits, so that an error can be given to other
 * ranks, wrapped or ignored on its way up. `version` and `man` are here because they need the table
 * or belong to the program as a whole; all others are in app/command and the rooms beside it. */
#include "common/cleanup.h"
#include "common/exit_code.h"
#include "common/log/log.h"
#include "common/slots/slot_environment.h"
#include "common/system/standard_streams.h"
#include "common/table.h"
#include "common/text/exit_code_print.h"
#include "common/text/nearest.h"
#include "common/text/roff.h"
#include "trainer/app/comm_check/command_check_comm.h"
#include "trainer/app/command/command.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/options/near_file.h"
#include "trainer/app/scaling/command_scaling.h"
#include "trainer/app/serve/http/http_server.h"
#include "trainer/app/trials/command_trials.h"
#include "trainer/data/draw/labels/fonts.h"
#ifdef RINGMASTER_HAVE_MPI
#include "trainer/comm/mpi/comm_mpi.h"
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A row of the table of commands. Help, man page, completion and the suggestion for a misspelled
 * name are made from it. */
struct command {
    const char *name;
    int (*run)(int argc, char *const *argv, struct error *err);
    /* NULL: LINE below is the whole help. The words after the command's name may have errors. */
    void (*help)(FILE *out, int argc, char *const *argv);
    const char *line;     /* NULL: not listed */
    const char *examples; /* a command a line */
};

static int run_man(int argc, char *const *argv, struct error *err);
static int run_version(int argc, char *const *argv, struct error *err);

/* In the order of the help; `docs`, which is for the build of the documentation alone, is not
 * listed and must be last: the loops that list commands end at the first row without a line. */
static const struct command COMMANDS[] = {
    {"train", command_train, command_train_help, "train a network",
     "ringtrain train --data pictures --model resnet50 --epochs 90\n"
     "ringtrain train --data pictures --init resnet50.safetensors --lr 0.01\n"
     "ringtrain train --data coco --recipe coco-1x\n"},
    {"eval", command_eval, command_eval_help, "score a trained network",
     "ringtrain eval --model-dir model --data pictures\n"
     "ringtrain eval --watch checkpoints --data pictures\n"},
    {"predict", command_predict, command_predict_help, "predict classes or objects in pictures",
     "ringtrain predict --model-dir model --out predictions cat.jpg photos/\n"},
    {"serve", command_serve, command_serve_help, "answer requests for predictions over HTTP",
     "ringtrain serve --model-dir model\n"
     "ringtrain serve --model-dir model --listen 127.0.0.1 --port 8000\n"},
    {"export", command_export, command_export_help, "write a network as ONNX",
     "ringtrain export --model-dir model --onnx model.onnx\n"},
    {"prepare", command_prepare, command_prepare_help,
     "write sample data, shards, or sets from their archives",
     "ringtrain prepare shapes sample\n"
     "ringtrain prepare shapes --coco sample --train 100\n"
     "ringtrain prepare folder imagenet shards --resize 256\n"
     "ringtrain prepare flowers flower_photos.tgz flowers\n"},
    {"inspect", command_inspect, command_inspect_help, "check a data set, show the compiled step",
     "ringtrain inspect data pictures\n"
     "ringtrain inspect plan --model resnet50 --batch-size 64\n"},
    {"draw", command_draw, command_draw_help, "draw a data set's objects on its pictures",
     "ringtrain draw --coco coco --out painted --count 4\n"},
    {"check-comm", command_check_comm, command_check_comm_help,
     "check the connections between ranks", "ringmaster check --mpi\n"},
    {"report", command_report, command_report_help,
     "write a page about runs: curves, classes, times",
     "ringtrain report /opt/ml/output/data\n"
     "ringtrain report runs/a runs/b --out compared.html\n"},
    {"scaling", command_scaling, command_scaling_help,
     "measure a training at several numbers of ranks",
     "ringtrain scaling --ranks 1,2,4 -- --data pictures --model resnet50\n"
     "ringmaster train -- ringtrain scaling --prices prices.json -- --data pictures\n"},
    {"trials", command_trials, command_trials_help, "train many configurations and rank them",
     "ringtrain trials plan.json --slots 2\n"
     "ringmaster train -- ringtrain trials plan.json --then-train true\n"},
    {"version", run_version, NULL, "show what this build includes", "ringtrain version\n"},
    {"man", run_man, NULL, "print the man page, as `man -l -` reads it",
     "ringtrain man | man -l -\n"},
    {"completion", command_completion, NULL, "print a script of completions, for bash to source",
     ". <(ringtrain completion)\n"},
    {"docs", command_docs, NULL, NULL, NULL},
};

/* MANUAL_MAX is the ceiling of the man page in bytes. */
enum { COMMAND_COUNT = sizeof(COMMANDS) / sizeof(COMMANDS[0]), MANUAL_MAX = 1 << 20 };

/* EXAMPLES has a command a line. */
static void print_examples(FILE *out, const char *examples) {
    fprintf(out, "\nexamples:\n");
    for (; *examples != '\0'; examples += strcspn(examples, "\n") + 1)
        fprintf(out, "  %.*s\n", (int)strcspn(examples, "\n"), examples);
}

/* Prints the help of ringtrain itself, to standard output if it was asked for, else to the standard
 * error. Examples are a first session: data, a training, predictions. */
static void print_help(FILE *out) {
    fprintf(out, "usage: ringtrain COMMAND [ARGUMENTS]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT && COMMANDS[i].line != NULL; i++)
        fprintf(out, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].line);
    fprintf(out, "\nringtrain COMMAND --help says more.\n");
    print_examples(out, "ringtrain prepare shapes sample\n"
                        "ringtrain train --data sample --model resnet20 --epochs 4\n"
                        "ringtrain predict --model-dir model --out predictions sample/val\n");
    fprintf(out, "\nexit codes:\n");
    exit_code_print(out, true);
}

/* Appends the examples of all commands as a section of the man page, unfilled (.nf), so that no
 * line is joined to another. */
static int add_examples(struct buf *text, struct error *err) {
    if (buf_add_text(text, ".SH EXAMPLES\n.nf\n", err) != 0)
        return -1;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (COMMANDS[i].examples != NULL && roff_text(text, COMMANDS[i].examples, err) != 0)
            return -1;
    return buf_add_text(text, ".fi\n", err);
}

/* The man page: the commands from this table, their flags and recipes from command_manual. It goes
 * to standard output as roff. */
static int run_man(int argc, char *const *argv, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, MANUAL_MAX);
    if (argc > 0)
        return error_set(err, EXIT_CODE_USAGE, "ringtrain man takes no argument, got '%.64s'",
                         argv[0]);
    if (roff_head(&text, "ringtrain", 1, "ringtrain", RINGMASTER_VERSION,
                  "trains, scores and applies image networks", err) != 0 ||
        buf_add_text(&text, ".SH SYNOPSIS\n.B ringtrain\nCOMMAND [ARGUMENTS]\n.SH COMMANDS\n",
                     err) != 0)
        return -1;
    for (size_t i = 0; i < COMMAND_COUNT && COMMANDS[i].line != NULL; i++)
        if (roff_item(&text, COMMANDS[i].name, "", COMMANDS[i].line, err) != 0)
            return -1;
    if (command_manual(&text, err) != 0 || add_examples(&text, err) != 0)
        return -1;
    printf("%s", buf_text(&text));
    return EXIT_CODE_OK;
}

/* What this build includes: each line is from the room that knows the library. A bug report needs
 * no more. */
static int run_version(int argc, char *const *argv, struct error *err) {
    if (argc > 0)
        return error_set(err, EXIT_CODE_USAGE, "ringtrain version takes no argument, got '%.64s'",
                         argv[0]);
    printf("ringtrain %s\n", RINGMASTER_VERSION);
    device_print(stdout);
#ifdef RINGMASTER_HAVE_MPI
    printf("ranks over MPI: %s\n", comm_mpi_library());
#else
    printf("ranks over MPI: not in this build\n");
#endif
    const char *fonts = fonts_library();
    printf("labels in pictures: %s\n",
           fonts != NULL ? fonts : "ASCII only, no FreeType in this build");
    const char *server = http_server_library();
    printf("serving: %s\n", server != NULL ? server : "not in this build");
    return 0;
}

/* ARGV has the words after the command's name: some helps depend on them (options_print). */
static void print_command_help(const struct command *command, int argc, char *const *argv) {
    if (command->help == NULL)
        printf("usage: ringtrain %s\n", command->name);
    else
        command->help(stdout, argc, argv);
    if (command->examples != NULL)
        print_examples(stdout, command->examples);
    printf("\nexit codes:\n");
    exit_code_print(stdout, true);
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Returns the row of the command NAME, or NULL. Commands are spelled exactly; `--version` alone on
 * the line is one. */
static const struct command *find(const char *name) {
    name = strcmp(name, "--version") == 0 ? "version" : name;
    return TABLE_FIND(COMMANDS, name, name);
}

/* Answers --help and --version, which may stand anywhere in the line, beside words with errors:
 * nobody needs a correct line to ask for help. A value of a flag that is spelled "--help" is
 * therefore not possible. Returns false if neither is there. The first of them counts, and
 * *RET_CODE is the exit code. */
static bool answer(const struct command *command, int argc, char **argv, struct error *err,
                   int *ret_code) {
    for (int i = 2; i < argc; i++) {
        if (is_help(argv[i])) {
            print_command_help(command, argc - 2, argv + 2);
            *ret_code = EXIT_CODE_OK;
            return true;
        }
        if (strcmp(argv[i], "--version") == 0) {
            *ret_code = run_version(0, NULL, err);
            return true;
        }
    }
    return false;
}

/* Writes "; did you mean NAME?" to WORDS, or "" if no command is spelled nearly like NAME. */
static const char *near_command(const char *name, char words[NEAREST_WORDS_MAX]) {
    struct nearest nearest = nearest_begin(name, strlen(name));
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        nearest_try(&nearest, COMMANDS[i].name);
    return nearest_words(&nearest, words);
}

/* Runs the command that ARGV names. Without one, or with an unknown one, the help goes to the
 * standard error; the exit code is EXIT_CODE_USAGE, and no error is set. */
static int run(int argc, char **argv, struct error *err) {
    if (argc >= 2 && (is_help(argv[1]) || strcmp(argv[1], "help") == 0)) {
        print_help(stdout);
        return EXIT_CODE_OK;
    }
    const struct command *command = argc >= 2 ? find(argv[1]) : NULL;
    if (command == NULL) {
        char words[NEAREST_WORDS_MAX];
        print_help(stderr);
        /* Printed after the help, so that it stays visible on the screen. */
        if (argc >= 2)
            fprintf(stderr, "\nringtrain: unknown command '%.64s'%s\n", argv[1],
                    near_command(argv[1], words));
        return EXIT_CODE_USAGE;
    }
    int code = 0;
    if (!answer(command, argc, argv, err, &code))
        code = command->run(argc - 2, argv + 2, err);
    return code;
}

/* Fails if standard output is closed: the output would be lost. standard_streams_fill has put
 * something harmless in its place, so that no file that is opened later gets its number. */
static int check_output(bool closed, struct error *err) {
    return !closed ? 0
                   : error_set(err, EXIT_CODE_CONFIG,
                               "standard output is closed: what ringtrain prints would be lost; "
                               "open it, or redirect it to /dev/null");
}

/* A hosting service starts its container as `serve`, a link to this program (trainer/room.cmake
 * makes it): then that is the command, and all words are its. *RET_ARGV has room for two words more
 * than ARGC: that one and the NULL. */
static int add_command(int argc, char **argv, char **ret_argv) {
    static char serve[] = "serve";
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const bool serves = argc > 0 && strcmp(slash != NULL ? slash + 1 : argv[0], serve) == 0;
    int count = 0;
    for (int i = 0; i < argc; i++) {
        ret_argv[count++] = argv[i];
        if (i == 0 && serves)
            ret_argv[count++] = serve;
    }
    ret_argv[count] = NULL;
    return count;
}

/* The order: words, standard streams, terminal, parent, command. A process that a launcher of slots
 * has started ends with it (slot_parent_follow). Output is flushed before the exit code is decided:
 * a result that was lost is a failure, also of a command that has succeeded. */
int main(int given, char **words) {
    struct error err = {0};
    cleanup_free char **argv = calloc((size_t)given + 2, sizeof(*argv));
    if (argv == NULL)
        return EXIT_CODE_CONFIG;
    const int argc = add_command(given, words, argv);
    unsigned closed = standard_streams_fill();
    int code = check_output((closed & 1U << STDOUT_FILENO) != 0, &err);
    if (ranks_terminal(STDERR_FILENO))
        log_set_terminal(STDERR_FILENO);
    if (code == 0)
        code = slot_parent_follow(&err);
    if (code == 0)
        code = run(argc, argv, &err);
    /* EXIT_CODE_DATA may be the verdict of a report, such as that of `inspect data`, so its text
     * matters as well. */
    if ((code == EXIT_CODE_OK || code == EXIT_CODE_DATA) && output_finish(&err) != 0)
        code = -1;
    if (code >= 0)
        return code;
    /* If the error is about a file that does not exist, one that is spelled nearly the same is
     * suggested. */
    char near[NEAR_FILE_WORDS_MAX];
    log_error("%s%s", err.text, near_file_of(err.text, argv + 2, argc > 2 ? argc - 2 : 0, near));
    /* Does not call exit: a communication thread may hang in a call, and exit handlers of the MPI
     * library would wait for it. fflush(NULL) would wait for a stream that such a thread holds. */
    (void)fflush(stdout);
    _exit(err.code != EXIT_CODE_OK ? (int)err.code : EXIT_CODE_INTERNAL);
}
