#include "entrypoint/job/job.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/run_id.h"
#include "entrypoint/job/job_hosts.h"
#include "entrypoint/job/machine/efa.h"
#include "entrypoint/job/sagemaker/sagemaker_request.h"
#include "entrypoint/job/upload_targets.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parts of a job are read in the order of what they need. Settings come first, as they say
 * where everything else is. SageMaker's request is next, as the list of hosts may depend on it.
 * Hosts follow, and last data and program. After an error the later parts are still read as far as
 * the hosts, since a host with a fault has to tell the others (job_read).
 *
 * Nothing here connects to anything. Code that is downloaded first has no program yet, which
 * job_resolve() finds afterwards. */

/* The settings own nothing: their texts are the environment's. */
void job_done(struct job *j) {
    cluster_done(&j->cluster);
    sagemaker_request_done(&j->request);
    channels_done(&j->channels);
    metric_definitions_done(&j->metrics);
    user_program_done(&j->program);
}

/* --- data, metrics and program ---------------------------------------------------------------- */

struct job_inputs {
    struct channels channels;
    struct download_sources sources;
};

/* NEEDS_CODE: the program may come with SageMaker's submitted code, as none is named after "--". */
static int read_inputs(const struct settings *s, const struct sagemaker_request *request,
                       char *const *environment, bool needs_code, struct job_inputs *ret,
                       struct error *err) {
    char path[PATH_MAX];
    if (upload_targets_check(s, err) != 0 ||
        sagemaker_request_path(s->base_dir, "inputdataconfig.json", path, err) != 0 ||
        channels_read(path, &ret->channels, err) != 0)
        return -1;
    return download_sources_read(s, request, environment, needs_code, &ret->channels, &ret->sources,
                                 err);
}

/* The folder of this executable is asked for and not the PATH, which a user may set as they like.
 */
char *job_trainer(void) {
    char self[PATH_MAX];
    struct error ignored;
    if (file_self(self, sizeof(self), &ignored) != 0)
        return NULL;
    const char *slash = strrchr(self, '/');
    char *path = NULL;
    /* Without memory there is no trainer either, and the message about that follows. */
    if (slash == NULL || asprintf(&path, "%.*s/ringtrain", (int)(slash - self), self) < 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* One line for all of them, with the first as an example: there may be hundreds. */
static void note_ignored(const struct hyperparameters *h, struct warnings *warnings) {
    if (h->ignored > 0)
        warnings_add(warnings,
                     "%zu hyperparameters have names that are no flag's and are "
                     "not passed as such, the first "
                     "is \"%.64s\" (names are letters, digits, '_', and inside '.', ':', '-')",
                     h->ignored, h->first_ignored);
}

/* Warns that a program which is named after "--" does not get the job's hyperparameters as flags.
 */
static void note_not_passed(const struct hyperparameters *h, struct warnings *warnings) {
    size_t count = 0;
    const char *first = NULL;
    for (size_t i = 0; i < h->count; i++) {
        /* These are for ringmaster, and no program misses them. */
        if (h->items[i].hidden)
            continue;
        first = count++ == 0 ? h->items[i].name : first;
    }
    if (count > 0)
        warnings_add(warnings,
                     "%zu hyperparameter%s not passed to a program that is named after \"--\", the "
                     "first is \"%.64s\": it finds them in SM_HPS, or name it by "
                     "sagemaker_program",
                     count, count == 1 ? " is" : "s are", first);
}

/* Warns if another ringmaster started this one: both would use the same ranks and ports. The
 * variable is one that every rank has of its supervisor. */
static void note_nested(char *const *environment, struct warnings *warnings) {
    if (env_get(environment, ATTEMPT_RUN_VARIABLE) != NULL)
        warnings_add(warnings,
                     "this ringmaster runs inside a program that another ringmaster started; one "
                     "is enough: let the outer one start the program itself");
}

/* The words after `train` are read anew, since the program may depend on files that were not there
 * before. */
int job_resolve(struct job *j, const char *const *arguments, char *const *environment,
                struct error *err) {
    cleanup_free char *ringtrain = job_trainer();
    struct user_program_inputs in = {
        .arguments = arguments,
        .request = &j->request,
        .base_dir = j->settings.base_dir,
        .environment = environment,
        .ringtrain = ringtrain,
    };
    if (user_program_resolve(&in, &j->program, err) != 0)
        return -1;
    /* Other programs may read a pipe themselves. */
    if (j->program.is_trainer && j->channels.piped != NULL)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "inputdataconfig.json: channel \"%s\" is in Pipe mode, which ringtrain does "
            "not read; use File or FastFile",
            j->channels.piped);
    return 0;
}

/* The job does not depend on the metrics, so errors are only warnings. Neither a file that cannot
 * be read nor entries that are no definitions stop a job. */
static void read_metrics(const char *base_dir, struct warnings *warnings,
                         struct metric_definitions *ret) {
    char path[PATH_MAX];
    struct error err = {0};
    if (sagemaker_request_path(base_dir, "metric-definition-regex.json", path, &err) != 0 ||
        metric_definitions_read(path, ret, &err) != 0)
        warnings_add(warnings, "metrics are not counted: %s", err.text);
    else if (ret->passed_over > 0)
        warnings_add(warnings,
                     "%s: %zu entries are ignored: not metric definitions, longer than 500 "
                     "characters, or beyond the first %d",
                     path, ret->passed_over, METRIC_DEFINITIONS_MAX);
}

/* --- whole job -------------------------------------------------------------------------------- */

/* Warns of what is ignored or looks wrong in a job that was read whole. EXACT: the program is named
 * after "--". */
static void check_whole(const struct settings *s, const struct hyperparameters *h, bool exact,
                        char *const *environment, struct metric_definitions *ret_metrics,
                        struct warnings *ret) {
    if (exact)
        note_not_passed(h, ret);
    else
        note_ignored(h, ret);
    note_nested(environment, ret);
    read_metrics(s->base_dir, ret, ret_metrics);
    efa_warn("", ret);
}

/* Refuses other words before "--" than --once-per-host: they would be taken for flags of the
 * trainer. Words for the program that sagemaker_program names may have a "--". */
static int check_front(const char *const *words, const char *program, struct error *err) {
    if ((program != NULL && program[0] != '\0') || words[0] == NULL || words[0][0] != '-')
        return 0;
    for (size_t i = 1; words[i] != NULL; i++)
        if (strcmp(words[0], "--") != 0 && strcmp(words[i], "--") == 0)
            return error_set(err, EXIT_CODE_USAGE,
                             "%.64s stands before --, where only " JOB_ONCE_PER_HOST
                             " may; flags of a program come after its name",
                             words[0]);
    return 0;
}

/* The first error is kept, but the hosts are read all the same. A host that cannot run joins the
 * others and reports why, so that they do not wait for it in vain. LATER takes errors after the
 * first, which are not reported. *RET is filled in any case, so that the caller frees it in one
 * way. */
int job_read(const char *const *arguments, char *const *environment, struct job *ret,
             struct error *err) {
    /* Two words may come before the program: --once-per-host, and then "--". */
    const bool once = arguments[0] != NULL && strcmp(arguments[0], JOB_ONCE_PER_HOST) == 0;
    const bool exact = arguments[once] != NULL && strcmp(arguments[once], "--") == 0;
    struct settings settings;
    struct sagemaker_request request;
    struct job_hosts hosts;
    struct job_inputs inputs = {0};
    struct metric_definitions metrics = {0};
    struct warnings warnings = {0};
    struct error first = {0}, later;
    int read = settings_parse(environment, &settings, &warnings, &first);
    if (sagemaker_request_read(settings.base_dir, environment, &request,
                               read == 0 ? &first : &later) != 0)
        read = -1;
    if (job_hosts_read(&settings, &request, once, environment, &hosts,
                       read == 0 ? &first : &later) != 0)
        read = -1;
    /* Warnings about hosts are kept, whether or not these could be read. */
    warnings_join(&warnings, &hosts.warnings);
    if (read == 0)
        read = check_front(arguments + once, request.program, &first);
    if (read == 0)
        read = read_inputs(&settings, &request, environment, !exact, &inputs, &first);
    if (read == 0)
        check_whole(&settings, &request.hyperparameters, exact, environment, &metrics, &warnings);
    *ret = (struct job){.settings = settings,
                        .cluster = hosts.cluster,
                        .request = request,
                        .channels = inputs.channels,
                        .sources = inputs.sources,
                        .metrics = metrics,
                        .ports = hosts.ports,
                        .once_per_host = once,
                        .warnings = warnings};
    /* An empty name if the hosts are one job. */
    memcpy(ret->part, hosts.part, sizeof(ret->part));
    if (read == 0)
        return ret->sources.code != NULL ? 0 : job_resolve(ret, arguments + once, environment, err);
    if (err != NULL)
        *err = first;
    return -1;
}
