#include "checkpoint/model_dir.h"
#include "command/command.h"
#include "command/command_coco.h"
#include "device/device.h"
#include "device/ranks.h"
#include "device/threads.h"
#include "device/wait_policy.h"
#include "options/inputs.h"
#include "options/options.h"
#include "run/evaluate.h"
#include "run/finite.h"
#include "run/report.h"
#include "run/stop.h"
#include "run/weights.h"
#include "task/task.h"

/* What an evaluation holds. */
struct scoring {
    const struct options *options;
    int argc; /* that they come from */
    char *const *argv;
    struct inputs inputs;
    struct model_config config;
    struct task_data data;
    struct backend *backend;
    struct network net;
    struct threads threads;
    struct report report;
};

static void scoring_done(struct scoring *s) {
    report_done(&s->report);
    network_done(&s->net);
    backend_close(s->backend);
    task_close(&s->data);
    model_config_done(&s->config);
}

static int open_data(struct scoring *s, struct comm *comm, struct error *err) {
    /* Where the model is does not depend on what it learnt. */
    if (inputs_model(&s->inputs, s->options, "", err) != 0 ||
        model_dir_config(s->inputs.model, &s->config, err) != 0)
        return -1;
    const struct model *model = model_find(s->config.model);
    if (model == NULL)
        return error_set(err, EXIT_CODE_DATA, "%s/config.json: model '%.64s' is none of %s",
                         s->inputs.model, s->config.model,
                         model_names(MODEL_CLASSIFY | MODEL_DETECT));
    if ((model->task == MODEL_DETECT) != (s->config.preset != NULL))
        return error_set(err, EXIT_CODE_DATA,
                         "%s/config.json: model '%.64s' with what another kind "
                         "of network has",
                         s->inputs.model, s->config.model);
    if (inputs_find(&s->inputs, s->options, COMMAND_EVAL, model->task, "", err) != 0)
        return -1;
    if (options_fit(COMMAND_EVAL, model, s->argc, s->argv, err) != 0)
        return -1;
    struct task_ask ask = {
        .options = s->options,
        .inputs = &s->inputs,
        .comm = comm,
        .model = model,
        .image_size = s->config.image_size,
        .trained = &s->config,
    };
    return task_open(&s->data, &ask, err);
}

static int open_network(struct scoring *s, struct comm *comm, struct error *err) {
    const struct options *o = s->options;
    if (device_place(o, comm, false, err) != 0 || threads_settle(&s->threads, o, comm, err) != 0)
        return -1;
    struct network_options n = {
        .model = s->config.model,
        .batch = (int)o->batch_size,
        .image_size = s->config.image_size,
        .classes = (int)s->config.classes,
        .objects = s->data.objects,
        .dtype = device_dtype(o->dtype),
        .fusion = device_fusion(o),
        .mean = s->config.mean,
        .std = s->config.std,
    };
    evaluate_canvases(&n, &s->data);
    if (device_open(&s->backend, o, s->threads.compute, comm, false, err) != 0)
        return -1;
    return network_open(&s->net, s->backend, &n, false, err);
}

static int load(struct scoring *s, struct error *err) {
    cleanup_safetensors struct safetensors file = {0};
    cleanup_weights struct weights w = {0};
    if (model_dir_open(s->inputs.model, &s->config, &file, err) != 0 ||
        weights_list(&w, &s->net.store, WEIGHTS_MODEL, 0, err) != 0)
        return -1;
    return weights_read(&w, &file, err);
}

static int run(struct scoring *s, struct comm *comm, struct error *err) {
    struct evaluation result;
    if (stop_listen(err) != 0 || open_data(s, comm, err) != 0 || open_network(s, comm, err) != 0 ||
        load(s, err) != 0)
        return -1;
    struct evaluate_options e = {
        .threads = s->threads.data,
        .line = &s->report.line,
    };
    if (report_open(&s->report, comm_rank(comm) == 0 ? stdout : NULL, OPTION_LOG_BOTH,
                    s->data.model, "", err) != 0)
        return -1;
    if (evaluate(&s->net, comm, &s->data, &e, &result, err) != 0)
        return -1;
    if (result.stopped)
        return EXIT_CODE_STOPPED;
    if (comm_rank(comm) == 0)
        samples_sum_up(&s->data.validation, s->data.bad_allowed);
    if (report_evaluation(&s->report, 0, s->config.epochs, &result, err) != 0)
        return -1;
    return finite_evaluation(&result, s->inputs.model, err);
}

int command_eval(int argc, char *const *argv, struct error *err) {
    if (command_has_flag(argc, argv, "coco"))
        return command_eval_coco(argc, argv, err);
    struct options options;
    struct comm *comm = NULL;
    if (options_parse(&options, COMMAND_EVAL, argc, argv, err) != 0)
        return -1;
    wait_policy_settle((int)options.threads);
    if (ranks_open(&comm, err) != 0)
        return -1;
    struct scoring s = {
        .options = &options, .argc = argc, .argv = argv, .report = {.events = TFEVENTS_CLOSED}};
    int result = device_settle(&options, comm, err);
    if (result == 0)
        result = run(&s, comm, err);
    scoring_done(&s);
    if (result < 0)
        comm_abort(comm);
    else
        comm_close(comm);
    return result;
}

void command_eval_help(FILE *out, int argc, char *const *argv) {
    fprintf(out, "usage: ringtrain eval --model-dir DIR --data DIR [--FLAG VALUE]...\n\n"
                 "Scores a trained model on a folder of class folders and prints the same line as "
                 "training.\n\n");
    options_print(out, COMMAND_EVAL, argc, argv);
    command_eval_coco_help(out);
}
