/* ringtrain serve: answers requests for predictions over HTTP.
 *
 * The network is opened first, for each size of a batch that may be used, and the sizes are timed;
 * only then does the server listen, so an open port means that requests can be answered.
 * server_compute stays on this thread, which has opened the backend; the HTTP server has threads of
 * its own. The command returns after a stop signal, with 0.
 *
 * One process serves: a hosting service scales by containers. serving_done closes in the reverse
 * order, the HTTP server before what it calls. */
#include "common/clock.h"
#include "common/log/log.h"
#include "common/str.h"
#include "common/system/stop_signal.h"
#include "common/text/wrap.h"
#include "trainer/app/command/command.h"
#include "trainer/app/command/trained/trained.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/memory_left.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/device/wait_policy.h"
#include "trainer/app/serve/batch_sizes.h"
#include "trainer/app/serve/http/http_server.h"
#include "trainer/app/serve/serve_classes.h"
#include "trainer/graph/program/sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PORT = 8080,
    /* Pictures that may wait without --queue. Those of a detector are larger and take longer. */
    QUEUE_CLASSES = 256,
    QUEUE_OBJECTS = 32,
    BODIES = 16, /* as many of the largest bodies may be in memory at once */
    MIB = 1024 * 1024,
};

/* Set by SageMaker's hosting service if it uses another port. */
static const char PORT_VARIABLE[] = "SAGEMAKER_BIND_TO_PORT";

/* State of the server. Zeroed, each member is closed; serving_done closes what is open. */
struct serving {
    struct trained trained;
    struct picture_queue queue;
    struct servable servable;
    struct server server;
    struct http_server *http;
};

static void serving_done(struct serving *s) {
    http_server_done(s->http);
    server_done(&s->server);
    servable_close(&s->servable);
    trained_done(&s->trained);
}

/* A bad value of the variable is an error of the configuration, not of the command line. --port
 * takes precedence. */
static int find_port(const struct options *o, int64_t *ret, struct error *err) {
    const char *variable = getenv(PORT_VARIABLE);
    *ret = o->port > 0 ? o->port : PORT;
    if (o->port > 0 || variable == NULL || variable[0] == '\0')
        return 0;
    if (str_parse_int(variable, 1, UINT16_MAX, ret, err) == 0)
        return 0;
    (void)error_recode(err, EXIT_CODE_CONFIG);
    return error_wrap(err, "%s='%.32s'", PORT_VARIABLE, variable);
}

/* Callback of the compilation: refuses a network that does not fit into what is left of the memory,
 * of the GPU or of this host. SIZES has the passes of all batches together, as they share the
 * memory. */
static int check_memory(void *user, const struct sizes *sizes, struct error *err) {
    struct backend *backend = user;
    const struct backend_device *device = backend->table->device;
    struct memory_left left = memory_left("", 1);
    char text[SIZES_TEXT_SIZE];
    if (device != NULL && device->memory_left != NULL)
        left = (struct memory_left){(int64_t)device->memory_left(backend), "this GPU"};
    if ((int64_t)sizes_sum(sizes) <= left.bytes)
        return 0;
    sizes_text(sizes, text, sizeof(text));
    return error_set(err, device != NULL ? EXIT_CODE_DEVICE : EXIT_CODE_CONFIG,
                     "memory: %" PRId64 " MiB available (%s), %s; a smaller --max-batch takes less",
                     left.bytes / MIB, left.bounds, text);
}

/* Sets sizes, limit and delay of the queue. --batch-delay is in milliseconds, fractions allowed.
 * The sizes are those to be compiled; batch_sizes_choose may drop the larger ones. */
static void settle_queue(struct serving *s) {
    const struct options *o = s->trained.options;
    const bool detects = s->trained.model->task == MODEL_DETECT;
    picture_queue_sizes(&s->queue, detects ? 1 : (int)o->max_batch);
    s->queue.limit = o->queue > 0 ? (size_t)o->queue : detects ? QUEUE_OBJECTS : QUEUE_CLASSES;
    s->queue.delay = (int64_t)(o->batch_delay * (double)CLOCK_MILLISECOND);
}

/* Opens the network, with room for the sizes of all batches. On a GPU an incomplete batch is
 * padded, on a CPU split into full ones (picture_queue.h): `pads` is known once the backend is
 * open. */
static int open_network(struct serving *s, struct error *err) {
    struct trained *t = &s->trained;
    const struct options *o = t->options;
    struct network_options n = {
        .model = t->config.model,
        .batch = 1,
        .image_size = t->config.image_size,
        .classes = (int)t->config.classes,
        .dtype = device_dtype(o->dtype),
        .fusion = device_fusion(o),
        .mean = t->config.mean,
        .std = t->config.std,
    };
    settle_queue(s);
    if (device_place(o, t->comm, false, err) != 0 ||
        threads_settle(&t->threads, o, t->comm, err) != 0 ||
        serve_classes_open(&s->servable, &t->net, &t->config, o, &s->queue, &n, err) != 0 ||
        device_open(&t->backend, o, t->threads.compute, t->comm, false, err) != 0)
        return -1;
    n.memory = (struct compile_memory){check_memory, t->backend};
    s->queue.pads = t->backend->table->device != NULL;
    return network_open(&t->net, t->backend, &n, false, err);
}

/* Reads the model's description, opens its network and loads the weights. Detectors are refused
 * here, although the queue has defaults for them. WHERE names the file in messages. */
static int open_model(struct serving *s, struct error *err) {
    struct trained *t = &s->trained;
    char where[INPUT_PATH_MAX + sizeof("/config.json")];
    if (trained_describe(t, err) != 0)
        return -1;
    (void)snprintf(where, sizeof(where), "%s/config.json", t->inputs.model);
    if (trained_check(t, where, err) != 0)
        return -1;
    if (t->model->task != MODEL_CLASSIFY)
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: serve takes networks that classify, and %s detects; ringtrain "
                         "predict applies it to files",
                         where, t->model->name);
    if (open_network(s, err) != 0)
        return -1;
    return trained_load(t, err);
}

/* The signal is listened for before anything slow begins, so that a stop during the opening is not
 * lost. The port is looked up first, as its errors are cheap to find. */
static int run(struct serving *s, struct error *err) {
    const struct options *o = s->trained.options;
    int64_t port;
    if (find_port(o, &port, err) != 0 || stop_signal_listen(err) != 0 || open_model(s, err) != 0)
        return -1;
    /* The queue is copied: the servable continues with all sizes that were compiled, the server
     * with those that were kept. */
    const size_t body = (size_t)o->max_body * MIB;
    struct picture_queue queue = s->queue;
    if (batch_sizes_choose(&s->servable, &queue, err) != 0)
        return -1;
    /* Bodies are limited twice: one by --max-body, and all in memory together by BODIES of the
     * largest, so that many small requests are not refused. */
    const struct server_options options = {.queue = queue,
                                           .body_max = body,
                                           .bodies_max = BODIES * body,
                                           .stop = o->stop_seconds * CLOCK_SECOND};
    const struct http_options http = {.address = o->listen,
                                      .port = (uint16_t)port,
                                      .threads = s->trained.threads.data,
                                      .connections = (int)o->connections,
                                      .idle = o->idle_seconds * CLOCK_SECOND,
                                      .receive = o->receive_seconds * CLOCK_SECOND,
                                      .log = o->access_log};
    if (server_init(&s->server, &options, &s->servable, err) != 0 ||
        http_server_start(&s->http, &s->server, &http, stop_signal_descriptor(), err) != 0)
        return -1;
    log_info("serving %s from %s on %s port %" PRId64, s->trained.config.model,
             s->trained.inputs.model, o->listen, port);
    server_compute(&s->server);
    log_info("stopped");
    return EXIT_CODE_OK;
}

/* A launcher that starts several processes is refused by each of them, after they have connected. S
 * is on the heap, as it is large and must not move. */
static int with_comm(const struct options *o, int argc, char *const *argv, struct error *err) {
    struct comm *comm = NULL;
    struct options settled = *o;
    wait_policy_settle((int)o->threads);
    if (ranks_open(OPTION_COMM_AUTO, &comm, err) != 0)
        return -1;
    struct serving *s = calloc(1, sizeof(*s));
    int result = s == NULL ? error_no_memory(err, "the server")
                 : comm_size(comm) > 1
                     ? error_set(err, EXIT_CODE_USAGE, "serve runs as one process, not as %d ranks",
                                 comm_size(comm))
                     : device_settle(&settled, comm, err);
    if (result == 0) {
        s->trained = (struct trained){.options = &settled,
                                      .command = COMMAND_SERVE,
                                      .argc = argc,
                                      .argv = argv,
                                      .comm = comm};
        result = run(s, err);
        serving_done(s);
    }
    free(s);
    ranks_close(comm, result, err);
    return result;
}

/* Without the library http_server_start sets the error; it looks at none of its arguments then
 * (serve/http/http_absent.c). This comes first, so that no model is read in vain. */
int command_serve(int argc, char *const *argv, struct error *err) {
    struct options options;
    struct http_server *none = NULL;
    if (http_server_library() == NULL)
        return http_server_start(&none, NULL, NULL, -1, err);
    if (options_parse(&options, COMMAND_SERVE, argc, argv, err) != 0)
        return -1;
    return with_comm(&options, argc, argv, err);
}

void command_serve_help(FILE *out, int argc, char *const *argv) {
    wrap_printf(
        out,
        "usage: ringtrain serve --model-dir DIR [--FLAG VALUE]...\n\nAnswers requests for "
        "predictions over HTTP, as SageMaker's hosting service sends them: POST /invocations with "
        "a JPEG or PNG, or with several in JSON; GET /ping tells whether it can answer, GET "
        "/metrics gives counters for Prometheus. Pictures that arrive together are computed "
        "together. SIGTERM ends it: requests that were begun are answered, new ones refused; the "
        "exit code is then 0.\n\n");
    options_print(out, COMMAND_SERVE, argc, argv, device_has_cuda());
}
