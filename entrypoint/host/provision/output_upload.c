#include "entrypoint/host/provision/output_upload.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/host/provision/input_download.h"
#include "entrypoint/host/provision/transfer_process.h"

#include <signal.h>
#include <string.h>

/* The child is started with the job and watches the folder of checkpoints (`live`). SIGUSR1 tells
 * it that the programs have ended, so that it uploads everything else, and SIGUSR2 that it must
 * give up soon and abort what is under way. The kept child survives the sweep of the process tree
 * (process_tree_keep), because it works while programs are ended.
 *
 * A child that dies before the end costs nothing but a warning: it is started again at the end, and
 * then uploads what is there. */

/* Time between giving up and SIGKILL, to abort uploads at the server; at most half of the limit. */
enum { ABORT_SECONDS = 5 };

/* --- the order -------------------------------------------------------------------------------- */

/* Appends one upload. `only` names the single file of a folder that is uploaded: the failure file
 * lies in `output`, next to `data`. */
static void add(const struct job *job, json_t *uploads, const char *what, const char *folder,
                enum input_download_target which) {
    bool live = which == INPUT_DOWNLOAD_CHECKPOINTS;
    json_t *item = json_pack("{s:s, s:o, s:o, s:b}", "what", what, "from",
                             json_sprintf("%s/%s", job->settings.base_dir, folder), "to",
                             input_download_target(job, which), "live", live);
    if (which == INPUT_DOWNLOAD_OUTPUT)
        (void)json_object_set_new(item, "only", json_string(what));
    (void)json_array_append_new(uploads, item);
}

/* Only S3 gets checkpoints while the job runs. */
json_t *output_upload_order(const struct job *job, char *const *environment) {
    const struct settings *s = &job->settings;
    json_t *uploads = json_array();
    if (s->checkpoints != NULL && str_starts_with(s->checkpoints, "s3://"))
        add(job, uploads, "checkpoints", "checkpoints", INPUT_DOWNLOAD_CHECKPOINTS);
    if (s->output != NULL) {
        add(job, uploads, "model", "model",
            cluster_is_master(&job->cluster) ? INPUT_DOWNLOAD_MODEL : INPUT_DOWNLOAD_OTHER_MODEL);
        add(job, uploads, "output", "output/data", INPUT_DOWNLOAD_DATA);
        add(job, uploads, "failure", "output", INPUT_DOWNLOAD_OUTPUT);
    }
    return json_pack("{s:o, s:I, s:o}", "environment",
                     transfer_process_environment(job, environment), "seconds",
                     (json_int_t)s->upload_seconds, "uploads", uploads);
}

/* --- the child -------------------------------------------------------------------------------- */

/* Lines of the child, for the log of this container; the prefix is there already. */
static void hear(void *context, const char *line, size_t size) {
    const struct output_upload *u = context;
    u->line(u->line_context, line, size);
}

/* DONE may start something else with this object, so its timers end first. */
static void conclude(struct output_upload *u, const struct error *failure) {
    loop_cancel(u->services->loop, &u->abandon);
    loop_cancel(u->services->loop, &u->kill);
    u->finishing = false;
    u->done(u->context, failure);
}

/* Codes from 128 on are signals, such as the SIGKILL of kill_it(). */
static void ended(void *context, int code) {
    struct output_upload *u = context;
    struct error err = {0};
    process_tree_keep(u->services->sweep, 0);
    if (!u->finishing) {
        log_warning("the upload process for checkpoints exited with %d: %s; it is restarted at the "
                    "end of the job",
                    code, transfer_process_last_word(&u->task));
        return;
    }
    if (code != EXIT_CODE_OK)
        (void)error_set(&err, EXIT_CODE_UPLOAD, "uploading the job's output: %s",
                        code < 128 ? transfer_process_last_word(&u->task)
                                   : "it did not finish in time");
    conclude(u, code == EXIT_CODE_OK ? NULL : &err);
}

/* Starts the child, and has the sweep of processes keep it. There is one at a time, so an earlier
 * one is replaced. */
static int start(struct output_upload *u, struct error *err) {
    const struct services *services = u->services;
    cleanup_json json_t *order = output_upload_order(services->job, services->environment);
    const struct transfer_process_options options = {
        .verb = "upload", .order = order, .line = hear, .ended = ended, .context = u};
    if (transfer_process_start(&u->task, services, &options, err) != 0)
        return -1;
    process_tree_keep(services->sweep, u->task.child.pid);
    return 0;
}

/* Timer: SIGUSR2 asks the child to abort uploads, so that nothing stays unfinished at the server.
 */
static void abandon(void *context) {
    const struct output_upload *u = context;
    subprocess_signal(&u->task, SIGUSR2);
}

/* Timer: the time for aborting is over, too. */
static void kill_it(void *context) {
    const struct output_upload *u = context;
    subprocess_signal(&u->task, SIGKILL);
}

/* On failure it stays closed, and the other functions do nothing. */
int output_upload_open(struct output_upload *u, const struct services *services,
                       void (*line)(void *context, const char *line, size_t size), void *context,
                       struct error *err) {
    *u = (struct output_upload){.services = services, .line = line, .line_context = context};
    u->abandon = (struct timer){.fire = abandon, .context = u};
    u->kill = (struct timer){.fire = kill_it, .context = u};
    if (start(u, err) != 0)
        return -1;
    u->open = true;
    return 0;
}

void output_upload_close(struct output_upload *u) {
    if (!u->open)
        return;
    loop_cancel(u->services->loop, &u->abandon);
    loop_cancel(u->services->loop, &u->kill);
    subprocess_signal(&u->task, SIGKILL);
    subprocess_done(&u->task);
    u->open = false;
}

/* Sets a limit; an earlier one that is already set stays. SECONDS is the time for everything; SPARE
 * of it is for aborting. With 0 seconds, uploads are abandoned at once, and the child gets the
 * usual time for that. */
static void limit(struct output_upload *u, int64_t seconds) {
    int64_t end = clock_now() + seconds * CLOCK_SECOND;
    int64_t spare = seconds > (int64_t)2 * ABORT_SECONDS ? ABORT_SECONDS * CLOCK_SECOND
                                                         : seconds * CLOCK_SECOND / 2;
    if (seconds == 0) { /* giving up takes a moment, too */
        end += ABORT_SECONDS * CLOCK_SECOND;
        spare = ABORT_SECONDS * CLOCK_SECOND;
    }
    if (u->kill.active && u->kill.deadline <= end)
        return;
    loop_at(u->services->loop, &u->abandon, end - spare);
    loop_at(u->services->loop, &u->kill, end);
}

/* A child that does not run is started anew; SIGUSR1 then comes before it handles signals, but is
 * held until it does (transfer_process.c). */
void output_upload_finish(struct output_upload *u, int64_t seconds,
                          void (*done)(void *context, const struct error *failure), void *context) {
    struct error err = {0};
    u->done = done;
    u->context = context;
    u->finishing = true;
    if (!u->task.running && start(u, &err) != 0) {
        conclude(u, &err);
        return;
    }
    log_info("uploading the job's output, within %lld s", (long long)seconds);
    limit(u, seconds);
    subprocess_signal(&u->task, SIGUSR1);
}

/* Before output_upload_finish() there is nothing to limit. */
void output_upload_set_deadline(struct output_upload *u, int64_t seconds) {
    if (u->finishing)
        limit(u, seconds);
}

/* For a job that ends without this upload: the child aborts, and is swept like any other. */
void output_upload_drop(struct output_upload *u) {
    if (!u->open || !u->task.running)
        return;
    process_tree_keep(u->services->sweep, 0);
    subprocess_signal(&u->task, SIGUSR2);
}
