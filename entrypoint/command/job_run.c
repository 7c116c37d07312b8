#include "entrypoint/command/job_run.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/system/process_guard.h"
#include "common/text/redact.h"
#include "entrypoint/command/check_request.h"
#include "entrypoint/command/trainer_flags.h"
#include "entrypoint/host/observe/failure_writer.h"
#include "entrypoint/host/observe/output_lock.h"
#include "entrypoint/job/job.h"
#include "entrypoint/master/role_loop.h"
#include "entrypoint/mpi/custom_options.h"
#include "entrypoint/os/nonblocking_writer.h"
#include "entrypoint/study/study_words.h"

#include <signal.h>
#include <unistd.h>

/* No other process knows of this error, so this one writes the failure file itself. BEGUN: programs
 * may have run, and one of them may have written that file. */
static void leave_failure(const struct job *job, bool begun, const struct error *error) {
    struct verdict verdict;
    const char *base = job->settings.base_dir != NULL ? job->settings.base_dir : "/opt/ml";
    verdict_from_error(error, &job->cluster, -1, &verdict);
    failure_writer_run(base, !begun, &verdict);
}

/* Before and after its loop, too, PID 1 waits for the reader of its log only briefly. */
static void put_words(void *context, const char *line, size_t size) {
    static const int64_t patience = CLOCK_SECOND / 4;
    (void)context;
    nonblocking_writer_put(STDERR_FILENO, line, size, patience);
}

/* Returns true once cluster and ports are known, so that the other hosts can learn what is wrong
 * with this one. */
static bool has_others(const struct job *job) {
    return job->cluster.count > 1 && job->ports.control != 0;
}

/* Reports words in the user's options for mpirun that have no effect. */
static void log_ignored_options(const struct job *job) {
    struct custom_options custom = {0};
    const char *options =
        job->request.mpi_options.options != NULL ? job->request.mpi_options.options : "";
    int parsed = custom_options_parse(options, &custom, NULL);
    for (size_t i = 0; parsed == 0 && i < custom.ignored.count; i++)
        log_info("sagemaker_mpi_custom_mpi_options: %s changes nothing here",
                 custom.ignored.items[i]);
    custom_options_done(&custom);
}

static void begin_words(const struct job *job) {
    log_set_who(job->cluster.hosts[job->cluster.self].name.text);
    log_set_level(job->settings.debug ? LOG_DEBUG : LOG_INFO);
    for (size_t i = 0; i < job->warnings.count; i++)
        log_warning("%s", job->warnings.text[i]);
    if (job->warnings.dropped > 0)
        log_warning("%zu more such warnings", job->warnings.dropped);
    log_ignored_options(job);
    if (job->cluster.source == CLUSTER_ALONE && job->settings.platform == NULL)
        log_info(
            "this host is a job of its own: neither RINGMASTER_HOSTS nor a platform names others");
}

static int run_roles(struct supervisor_options *options, struct error *err) {
    int code = -1;
    begin_words(options->job);
    return role_loop_run(options, &code, err) == 0 ? code : -1;
}

/* CHECK is NULL for a job. */
static int run_job(const char *const *words, const struct check_request *check, struct error *err) {
    struct job job = {0};
    struct error fault = {0};
    int code = -1;
    bool begun = false;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)log_set_sink((struct log_sink){.put = put_words});
    process_guard_forbid_inspection(); /* this process holds the key */
    if (redact_add_environment(environ, err) != 0)
        return -1;
    const bool table = check != NULL && check->comm == NULL;
    bool complete = job_read(words, environ, &job, &fault) == 0 &&
                    (!table || trainer_flags_check(&job, &fault) == 0);
    if (check != NULL && !table)
        check_request_adapt(&job);
    struct supervisor_options options = {.job = &job,
                                         .environment = environ,
                                         .arguments = words,
                                         .fault = complete ? NULL : &fault,
                                         .check = table,
                                         .json = table && check->json,
                                         .begun = &begun};
    /* Usage errors are the same on all hosts, so none has to wait to learn of them. */
    if (complete || (has_others(&job) && fault.code != EXIT_CODE_USAGE))
        code = run_roles(&options, err);
    else
        *err = fault;
    if (code < 0)
        leave_failure(&job, begun, err);
    job_done(&job);
    output_lock_end();
    return code;
}

int job_run_train(const char *const *words, struct error *err) {
    return run_job(words, NULL, err);
}

int job_run_check(const char *const *words, struct error *err) {
    struct check_request request;
    cleanup_argv struct argv program = {0};
    if (check_request_read(words, &request, err) != 0)
        return -1;
    if (request.comm == NULL)
        return run_job(request.words, &request, err);
    if (check_request_program(&request, &program, err) != 0)
        return -1;
    return run_job((const char *const *)program.items, &request, err);
}

/* A job of which every rank is `ringmaster study`. */
static int run_study_job(enum study_kind kind, const char *const *words, struct error *err) {
    cleanup_argv struct argv job = {0};
    if (study_words_job(kind, words, &job, err) != 0)
        return -1;
    return run_job((const char *const *)job.items, NULL, err);
}

int job_run_trials(const char *const *words, struct error *err) {
    return run_study_job(STUDY_TRIALS, words, err);
}

int job_run_scaling(const char *const *words, struct error *err) {
    return run_study_job(STUDY_SCALING, words, err);
}
