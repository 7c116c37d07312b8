/* ringtrain report: a page of one run, or of several beside each other. */
#include "common/file/output_path.h"
#include "common/text/wrap.h"
#include "trainer/app/command/command.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/report/page.h"
#include "trainer/telemetry/run_log.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPORT = 1 };

struct report_flags {
    const char *out;
};

static const struct flag FLAGS[] = {
    {.name = "out",
     .type = FLAG_TEXT,
     .offset = offsetof(struct report_flags, out),
     .standard = PAGE_NAME,
     .commands = REPORT,
     .value = "FILE",
     .help = "the page; an earlier report there is replaced"},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

struct folders {
    char paths[PAGE_RUNS_MAX][PATH_MAX];
    const char *list[PAGE_RUNS_MAX];
    size_t count;
};

/* Finds the folder below WORD that has a run.jsonl: its own, that of a job, or that of a model. */
static int find(const char *word, char ret[PATH_MAX], struct error *err) {
    static const char *const places[] = {"", "/output/data", "/model"};
    char file[PATH_MAX];
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(ret, PATH_MAX, "%s%s", word, places[i]) >= PATH_MAX ||
            snprintf(file, sizeof(file), "%s/" RUN_LOG_NUMBERS, ret) >= (int)sizeof(file))
            return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", word);
        if (access(file, F_OK) == 0)
            return 0;
    }
    return error_set(err, EXIT_CODE_DATA,
                     "%s: no " RUN_LOG_NUMBERS " in it, nor in output/data or model below it; give "
                     "the folder that ringtrain train has named as that of run.jsonl (--log-dir)",
                     word);
}

static int find_all(struct folders *f, char *const *words, int count, struct error *err) {
    if (count > PAGE_RUNS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d runs are given; a report shows at most %d",
                         count, PAGE_RUNS_MAX);
    for (; f->count < (size_t)count; f->count++) {
        f->list[f->count] = f->paths[f->count];
        if (find(words[f->count], f->paths[f->count], err) != 0)
            return -1;
    }
    return 0;
}

static int run(const char *out, char *const *words, int count, struct error *err) {
    struct folders *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return error_no_memory(err, "folders");
    int result = find_all(f, words, count, err);
    if (result == 0)
        result = output_path_check(out, &PAGE_KIND, "--out", err);
    if (result == 0)
        result = page_write(f->list, f->count, out, err);
    if (result == 0)
        printf("%s\n", out);
    free(f);
    return result;
}

int command_report(int argc, char *const *argv, struct error *err) {
    struct report_flags flags = {0};
    int flag_count = 0, word_count = 0;
    char **own = calloc(2 * (size_t)argc + 1, sizeof(*own));
    if (own == NULL)
        return error_no_memory(err, "arguments");
    char **words = own + argc;
    flags_split(argc, argv, own, &flag_count, words, &word_count);
    int result = flags_parse(FLAGS, FLAG_COUNT, REPORT, flag_count, own, &flags, err);
    if (result == 0 && word_count == 0)
        result = error_set(err, EXIT_CODE_USAGE, "usage: ringtrain report DIR... [--out FILE]");
    if (result == 0)
        result = run(flags.out, words, word_count, err);
    free(own);
    return result;
}

void command_report_help(FILE *out, int argc, char *const *argv) {
    (void)argc, (void)argv;
    wrap_printf(
        out,
        "usage: ringtrain report DIR... [--out FILE]\n\nWrites a page about a run, or up to %d "
        "runs "
        "beside each other, from the run.jsonl in each DIR (or in DIR/output/data, DIR/model) and "
        "the pictures beside it: curves, results by class, confusions, where the time went, "
        "settings, restarts. It also works while a run goes on, and says what is missing. The "
        "page needs no network and no script.\n\n",
        PAGE_RUNS_MAX);
    flags_print(out, FLAGS, FLAG_COUNT, REPORT, 0, NULL);
}
