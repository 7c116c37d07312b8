#include "app/save.h"

#include "app/weights.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/model_dir.h"
#include "common/buf.h"
#include "common/file.h"
#include "common/log.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Forward passes of training that the norms have seen. */
static int64_t batches_seen(const struct job *job) {
    return job->state.step * job->options->accumulate;
}

int save_checkpoint(struct job *job, struct error *err) {
    if (!job->first)
        return 0;
    cleanup_weights struct weights w = {0};
    cleanup_buf struct buf state = {0};
    char path[CHECKPOINT_PATH_MAX];
    buf_init(&state, RUN_STATE_JSON_MAX);
    if (run_state_format(&state, &job->state, err) != 0 ||
        weights_list(&w, &job->net.store, WEIGHTS_MODEL | WEIGHTS_MOMENTUM | WEIGHTS_BATCHES,
                     batches_seen(job), err) != 0 ||
        checkpoint_save(job->inputs.checkpoints, job->state.step, w.arrays, w.count,
                        buf_text(&state), path, err) != 0)
        return error_wrap(err, "saving a checkpoint");
    log_info("checkpoint %s", path);
    return 0;
}

/* Names are borrowed from JOB: nothing to free. */
static struct model_config describe_model(struct job *job) {
    struct augment crop;
    augment_defaults_eval(&crop, job->image_size);
    struct model_config config = {
        .model = job->state.model,
        .class_names = job->training.class_names,
        .classes = job->training.classes,
        .image_size = job->image_size,
        .resize_side = job->options->resize > 0 ? (int)job->options->resize : crop.resize_side,
        .epochs = job_epoch(job),
    };
    memcpy(config.mean, NETWORK_MEAN, sizeof(config.mean));
    memcpy(config.std, NETWORK_STD, sizeof(config.std));
    return config;
}

int save_check(struct job *job, struct error *err) {
    if (!job->first)
        return 0;
    const char *checkpoints = job->inputs.checkpoints;
    struct model_config config = describe_model(job);
    if (model_dir_check(job->inputs.model, &config, err) != 0)
        return error_wrap(err, "--model-dir");
    if (file_make_dirs(checkpoints, err) != 0)
        return error_wrap(err, "--checkpoint-dir");
    if (access(checkpoints, W_OK | X_OK) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "--checkpoint-dir: %s", checkpoints);
    return 0;
}

int save_model(struct job *job, struct error *err) {
    if (!job->first)
        return 0;
    struct model_config config = describe_model(job);
    cleanup_weights struct weights w = {0};
    if (weights_list(&w, &job->net.store, WEIGHTS_MODEL | WEIGHTS_BATCHES, batches_seen(job),
                     err) != 0 ||
        model_dir_save(job->inputs.model, &config, w.arrays, w.count, err) != 0)
        return error_wrap(err, "publishing the model");
    log_info("model in %s", job->inputs.model);
    return 0;
}
