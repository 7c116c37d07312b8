#include "trainer/app/scaling/scaling_job.h"

#include "common/file/file.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Set for each size. */
static const char *const OWN[] = {
    "steps",  "report-every", "log-dir", "model-dir", "checkpoint-dir", "tensorboard-dir",
    "resume", "log",          "out",     "timeline",  "progressive",    NULL};

int scaling_job_check(const struct scaling_job *job, struct error *err) {
    struct options options;
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    if (options_parse(&options, COMMAND_TRAIN, job->count, job->flags, err) != 0)
        return -1;
    for (size_t i = 0; OWN[i] != NULL; i++)
        if (flags_given(flags, count, COMMAND_TRAIN, OWN[i], job->count, job->flags) != NULL)
            return error_set(err, EXIT_CODE_USAGE,
                             "--%s: a scaling report sets it for each size itself; leave it out%s",
                             OWN[i],
                             i == 0 ? ", and give --steps before the `--` for the length of a "
                                      "measurement"
                                    : "");
    return 0;
}

int scaling_job_threads(const struct scaling_job *job) {
    struct options options;
    return options_parse(&options, COMMAND_TRAIN, job->count, job->flags, NULL) == 0 &&
                   options.threads > 0
               ? (int)options.threads
               : job->threads;
}

static int add_flags(const struct scaling_job *job, const char *folder, struct argv *ret,
                     struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    static const char *const rest[] = {"--resume", "none", "--validation", "none", "--log",
                                       "metrics",  NULL};
    if (argv_add_all(ret, (const char *const *)job->flags, err) != 0 ||
        argv_add_all(ret, rest, err) != 0 || argv_printf(ret, err, "--steps=%d", job->steps) != 0 ||
        argv_printf(ret, err, "--report-every=%d", job->steps / SCALING_JOB_ROWS) != 0 ||
        argv_printf(ret, err, "--log-dir=%s", folder) != 0 ||
        argv_printf(ret, err, "--model-dir=%s/model", folder) != 0 ||
        argv_printf(ret, err, "--checkpoint-dir=%s/checkpoints", folder) != 0)
        return -1;
    /* A rank has the same cores at all sizes. */
    return flags_given(flags, count, COMMAND_TRAIN, "threads", job->count, job->flags) != NULL
               ? 0
               : argv_printf(ret, err, "--threads=%d", job->threads);
}

int scaling_job_argv(const struct scaling_job *job, const char *strategy, const char *folder,
                     struct argv *ret, struct error *err) {
    char program[PATH_MAX];
    return file_self(program, sizeof(program), err) != 0 || argv_add(ret, program, err) != 0 ||
                   argv_add(ret, "train", err) != 0 || add_flags(job, folder, ret, err) != 0 ||
                   (strategy[0] != '\0' && argv_printf(ret, err, "--strategy=%s", strategy) != 0)
               ? -1
               : 0;
}

/* Those in which all ranks train, so that one number of ranks means the same with each. */
static bool can_compare(const char *name) {
    static const enum option_strategy list[] = {OPTION_ALLREDUCE, OPTION_SHARDED, OPTION_LOCAL_SGD};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(name, options_strategy_name(list[i])) == 0)
            return true;
    return false;
}

int scaling_job_strategies(const struct scaling_job *job, const char *text,
                           struct scaling_names *ret, struct error *err) {
    size_t flag_count = 0;
    const struct flag *flags = options_flags(&flag_count);
    if (flags_given(flags, flag_count, COMMAND_TRAIN, "strategy", job->count, job->flags) != NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "--strategy after the `--` and --strategies before it: give one of them");
    for (;; text++) {
        const size_t size = strcspn(text, ",");
        if (scaling_names_add(ret, text, size, "--strategies", err) != 0)
            return -1;
        if (!can_compare(ret->list[ret->count - 1]))
            return error_set(err, EXIT_CODE_USAGE,
                             "--strategies: '%.*s': expected some of allreduce, sharded, "
                             "local-sgd; one with servers has a report of its own, with "
                             "--strategy after the `--`",
                             (int)size, text);
        text += size;
        if (*text == '\0')
            return 0;
    }
}

void scaling_job_text(const struct scaling_job *job, char *ret, size_t size) {
    size_t used = (size_t)snprintf(ret, size, "ringtrain train");
    for (int i = 0; i < job->count && used < size; i++)
        used += (size_t)snprintf(ret + used, size - used, " %s", job->flags[i]);
}
