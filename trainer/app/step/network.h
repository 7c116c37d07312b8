/* A model with what it runs on: one store of parameters, and compiled programs over it that take
 * turns in one memory: for each canvas, a size of its input, one that evaluates and, if it is
 * trained, one that trains. */
#ifndef TRAINER_APP_STEP_NETWORK_H
#define TRAINER_APP_STEP_NETWORK_H

#include "common/error.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/program/program.h"
#include "trainer/models/model.h"

enum { NETWORK_CANVASES_MAX = 8 };

struct network_canvas {
    int height, width; /* pixels */
};

struct network_options {
    const char *model;
    int batch;
    int image_size; /* of the one canvas where canvas_count is 0 */
    struct network_canvas canvases[NETWORK_CANVASES_MAX];
    int canvas_count;
    int classes;
    struct model_objects objects;
    bool zero_gamma;
    enum dtype dtype;
    enum fusion fusion;
    double label_smoothing; /* in training alone; evaluation tells the plain loss */
    const double *mean;     /* of pixels in 0..1, RGB */
    const double *std;
    bool one_lane;                /* compile_options */
    struct compile_memory memory; /* the same */
};

struct pass {
    const struct model *model; /* borrowed */
    struct graph graph;
    struct program program;
    int inputs[BATCH_FIELDS_MAX]; /* tensors */
    int input_count;
    int metrics; /* the tensor */
};

struct network {
    struct backend *backend;   /* borrowed */
    const struct model *model; /* borrowed */
    struct store store;
    struct program_memory memory;
    int canvases;                            /* passes in each list; those of a batch: its canvas */
    struct pass train[NETWORK_CANVASES_MAX]; /* empty without training */
    struct pass eval[NETWORK_CANVASES_MAX];
};

void network_done(struct network *net);
/* Builds and compiles all passes, or those that evaluate alone. The store is all zero then: start
 * or load it. NET stays where it is. */
int network_open(struct network *net, struct backend *backend, const struct network_options *o,
                 bool training, struct error *err);

/* Whether MODEL takes pictures of that side: a look before there are data, which compiles nothing.
 */
int network_check_side(const struct model *model, int side, struct error *err);

/* The pass of PASSES (net->train or net->eval) that takes BATCH; NULL where there is no such
 * canvas.
 */
struct pass *network_pass(const struct network *net, struct pass *passes, const struct batch *batch,
                          struct error *err);
/* What BATCH has for an input of PASS, 0 .. input_count - 1; NULL where it has no such field, or
 * one of another size. */
const void *pass_values(const struct pass *pass, int input, const struct batch *batch,
                        struct error *err);
/* The batch becomes the input of the next run of PASS. */
int pass_feed(struct pass *pass, const struct batch *batch, struct error *err);
/* What the last run tells, in the order of the model's list. */
int pass_metrics(struct pass *pass, float ret_metrics[MODEL_METRICS_MAX], struct error *err);

#endif
