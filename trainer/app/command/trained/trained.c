#include "trainer/app/command/trained/trained.h"

#include "common/log/log.h"
#include "trainer/app/device/device.h"
#include "trainer/app/run/evaluate.h"
#include "trainer/app/step/fp16_fold_check.h"
#include "trainer/app/step/room.h"
#include "trainer/app/task/tasks.h"
#include "trainer/app/weights/weights.h"

void trained_done(struct trained *t) {
    network_done(&t->net);
    backend_close(t->backend);
    task_close(&t->data);
    model_config_done(&t->config);
}

int trained_describe(struct trained *t, struct error *err) {
    /* The model's folder does not depend on its task. */
    if (inputs_model(&t->inputs, t->options, "", err) != 0 ||
        model_dir_config(t->inputs.model, &t->config, err) != 0)
        return -1;
    if (comm_rank(t->comm) != 0)
        return 0;
    if (!t->config.sealed)
        log_info("%s/config.json has no checksum: it is not verified", t->inputs.model);
    if (t->config.unknown[0] != '\0')
        log_warning("%s/config.json: ignoring unknown keys: %s", t->inputs.model,
                    t->config.unknown);
    return 0;
}

int trained_check(struct trained *t, const char *where, struct error *err) {
    t->model = model_find(t->config.model);
    if (t->model == NULL)
        return error_set(err, EXIT_CODE_DATA, "%s: unknown model '%.64s'; expected one of %s",
                         where, t->config.model, model_names(MODEL_CLASSIFY | MODEL_DETECT));
    if ((t->model->task == MODEL_DETECT) != (t->config.preset != NULL))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: model '%.64s' has settings of another kind of network", where,
                         t->config.model);
    return options_fit(t->command, t->model, t->argc, t->argv, err) != 0
               ? -1
               : options_suit(t->options, t->command, t->model, t->argc, t->argv, err);
}

int trained_open_data(struct trained *t, const struct picture_list *pictures, struct error *err) {
    if (pictures == NULL &&
        inputs_find(&t->inputs, t->options, COMMAND_EVAL, t->model->task, "", err) != 0)
        return -1;
    const struct task_request request = {
        .options = t->options,
        .inputs = &t->inputs,
        .comm = t->comm,
        .model = t->model,
        .image_size = t->config.image_size,
        .trained = &t->config,
        .pictures = pictures,
    };
    return task_open(&t->data, &request, err);
}

int trained_artifacts(const struct trained *t, struct eval_artifacts *ret, struct error *err) {
    const struct options *o = t->options;
    *ret = (struct eval_artifacts){.folder = t->inputs.out,
                                   .pictures = (size_t)o->pictures,
                                   .least_score = o->score_threshold,
                                   .needed = true};
    return comm_rank(t->comm) == 0 ? eval_artifacts_check(ret, t->data.task, err) : 0;
}

int trained_open_network(struct trained *t, struct error *err) {
    const struct options *o = t->options;
    if (device_place(o, t->comm, false, err) != 0 ||
        threads_settle(&t->threads, o, t->comm, err) != 0)
        return -1;
    struct network_options n = {
        .model = t->config.model,
        .batch = t->data.validation.source.batch,
        .image_size = t->config.image_size,
        .classes = (int)t->config.classes,
        .objects = t->data.objects,
        .dtype = device_dtype(o->dtype),
        .fusion = device_fusion(o),
        .mean = t->config.mean,
        .std = t->config.std,
    };
    struct room room = {.comm = t->comm, .data = &t->data, .network = &n, .threads = &t->threads};
    n.memory = (struct compile_memory){room_check, &room};
    evaluate_canvases(&n, &t->data);
    if (device_open(&t->backend, o, t->threads.compute, t->comm, false, err) != 0)
        return -1;
    room.backend = t->backend;
    return network_open(&t->net, t->backend, &n, false, err);
}

int trained_read(struct trained *t, const struct safetensors *file, struct error *err) {
    cleanup_weights struct weights w = {0};
    if (weights_list(&w, &t->net.store, WEIGHTS_MODEL | WEIGHTS_FROM_AVERAGE, 0, err) != 0)
        return -1;
    /* A checkpoint of a run that averages its weights: the average is what it publishes. */
    if (w.count == 0 || !weights_are_in(&w, file)) {
        weights_done(&w);
        if (weights_list(&w, &t->net.store, WEIGHTS_MODEL, 0, err) != 0)
            return -1;
    }
    if (weights_read(&w, file, err) != 0)
        return -1;
    return fp16_fold_check(&t->net, err) != 0 ? error_wrap(err, "%s", file->path) : 0;
}

int trained_load(struct trained *t, struct error *err) {
    cleanup_safetensors struct safetensors file = {0};
    return model_dir_open(t->inputs.model, &t->config, &file, err) != 0
               ? -1
               : trained_read(t, &file, err);
}
