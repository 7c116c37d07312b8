/* Tables of the reference pages, printed as Markdown from the tables that the program itself uses.
 * docs/generate.sh puts them into docs/reference, and a test compares the pages with them. */
#include "common/exit_code.h"
#include "common/table.h"
#include "common/text/nearest.h"
#include "trainer/app/comm_check/command_check_comm.h"
#include "trainer/app/command/command.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/options.h"
#include "trainer/app/options/recipe.h"
#include "trainer/app/scaling/command_scaling.h"
#include "trainer/app/trials/command_trials.h"
#include "trainer/graph/op.h"
#include "trainer/models/model.h"

#include <stdio.h>
#include <string.h>

static void print_flags(unsigned command) {
    static const struct {
        const char *title;
        unsigned tasks;
    } parts[] = {{NULL, 0},
                 {"Classification networks", MODEL_CLASSIFY},
                 {"Detection networks", MODEL_DETECT}};
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].title != NULL)
            printf("\n## %s\n\n", parts[i].title);
        flags_page(stdout, flags, count, command, parts[i].tasks);
    }
}

static void print_models(void) {
    static const unsigned tasks[] = {MODEL_CLASSIFY, MODEL_DETECT};
    printf("| networks that | `--model` |\n| --- | --- |\n");
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
        printf("| %s | %s |\n", model_task_name((enum model_task)tasks[i]), model_names(tasks[i]));
}

static void print_recipes(void) {
    printf("```\n");
    recipe_print(stdout, MODEL_CLASSIFY | MODEL_DETECT);
    printf("```\n");
}

/* The backend's name for its implementation of an operator; "none" if it has none. */
static const char *has(const char *part) {
    return strcmp(part, "none") == 0 ? "" : "yes";
}

static void print_operators(void) {
    static const struct {
        const char *name;
        int inputs, outputs;
        const char *gradient, *cpu, *cuda;
    } rows[] = {
#define OP(kind, label, in, out, rule, back, cost, places, ref, cpu, cuda)                         \
    {#label, in, out, #back, #cpu, #cuda},
#include "trainer/graph/ops.def"
    };
    printf("| operator | inputs | outputs | gradient | cpu | cuda |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        printf("| `%s` | %d | %d | %s | %s | %s |\n", rows[i].name, rows[i].inputs, rows[i].outputs,
               has(rows[i].gradient), has(rows[i].cpu), has(rows[i].cuda));
}

static void print_help_of(void (*help)(FILE *out, int argc, char *const *argv)) {
    printf("```\n");
    help(stdout, 0, NULL);
    printf("```\n");
}

static void print_table(const char *name) {
    if (strcmp(name, "train") == 0)
        print_flags(COMMAND_TRAIN);
    else if (strcmp(name, "eval") == 0)
        print_flags(COMMAND_EVAL);
    else if (strcmp(name, "predict") == 0)
        print_flags(COMMAND_PREDICT);
    else if (strcmp(name, "serve") == 0)
        print_flags(COMMAND_SERVE);
    else if (strcmp(name, "models") == 0)
        print_models();
    else if (strcmp(name, "recipes") == 0)
        print_recipes();
    else if (strcmp(name, "operators") == 0)
        print_operators();
    else if (strcmp(name, "inspect") == 0)
        print_help_of(command_inspect_help);
    else if (strcmp(name, "check-comm") == 0)
        print_help_of(command_check_comm_help);
    else if (strcmp(name, "export") == 0)
        print_help_of(command_export_help);
    else if (strcmp(name, "prepare") == 0)
        print_help_of(command_prepare_help);
    else if (strcmp(name, "report") == 0)
        print_help_of(command_report_help);
    else if (strcmp(name, "scaling") == 0)
        print_help_of(command_scaling_help);
    else if (strcmp(name, "trials") == 0)
        print_help_of(command_trials_help);
    else
        print_help_of(command_draw_help);
}

int command_docs(int argc, char *const *argv, struct error *err) {
    static const struct {
        const char *name, *page;
    } tables[] = {
        {"train", "docs/reference/ringtrain-train.md"},
        {"models", "docs/reference/ringtrain-train.md"},
        {"recipes", "docs/reference/ringtrain-train.md"},
        {"eval", "docs/reference/ringtrain-eval.md"},
        {"predict", "docs/reference/ringtrain-predict.md"},
        {"serve", "docs/reference/ringtrain-serve.md"},
        {"inspect", "docs/reference/ringtrain-tools.md"},
        {"export", "docs/reference/ringtrain-tools.md"},
        {"prepare", "docs/reference/ringtrain-tools.md"},
        {"draw", "docs/reference/ringtrain-tools.md"},
        {"check-comm", "docs/reference/ringtrain-tools.md"},
        {"report", "docs/reference/ringtrain-tools.md"},
        {"scaling", "docs/reference/ringtrain-tools.md"},
        {"trials", "docs/reference/ringtrain-tools.md"},
        {"operators", "docs/reference/operators.md"},
    };
    struct nearest nearest = nearest_begin(argc > 0 ? argv[0] : "", argc > 0 ? strlen(argv[0]) : 0);
    char words[NEAREST_WORDS_MAX];
    if (argc == 1 && TABLE_FIND(tables, name, argv[0]) != NULL) {
        print_table(argv[0]);
        return EXIT_CODE_OK;
    }
    for (size_t i = 0; i < TABLE_COUNT(tables); i++) {
        nearest_try(&nearest, tables[i].name);
        if (argc == 0)
            printf("%s %s\n", tables[i].name, tables[i].page);
    }
    return argc == 0 ? EXIT_CODE_OK
                     : error_set(err, EXIT_CODE_USAGE,
                                 "docs: unknown table \"%.64s\"; `ringtrain docs` lists them%s",
                                 argv[0], nearest_words(&nearest, words));
}
