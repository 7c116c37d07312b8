/* A model with what it runs on: one store of parameters and up to two compiled programs over it,
 * one that trains and one that evaluates. */
#ifndef RUN_NETWORK_H
#define RUN_NETWORK_H

#include "backend/backend.h"
#include "common/error.h"
#include "graph/fuse.h"
#include "graph/program.h"
#include "models/model.h"
#include "set/batch.h"

struct network_options {
    const char *model;
    int batch;
    int image_size;
    int classes;
    bool zero_gamma;
    enum dtype dtype;
    enum fusion fusion;
    double label_smoothing; /* in training alone; evaluation tells the plain loss */
    const double *mean;     /* of pixels in 0..1, RGB */
    const double *std;
    bool one_lane; /* compile_options */
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
    struct pass train;
    struct pass eval;
};

void network_done(struct network *net);
/* Builds and compiles both passes, which take turns in one memory, or the evaluating one alone. The
 * store is all zero then: start or load it. NET stays where it is. */
int network_open(struct network *net, struct backend *backend, const struct network_options *o,
                 bool training, struct error *err);

/* What BATCH has for an input of PASS, 0 .. input_count - 1; NULL where it has no such field, or
 * one of another size. */
const void *pass_values(const struct pass *pass, int input, const struct batch *batch,
                        struct error *err);
/* The batch becomes the input of the next run of PASS. */
int pass_feed(struct pass *pass, const struct batch *batch, struct error *err);
/* What the last run tells, in the order of the model's list. */
int pass_metrics(struct pass *pass, float ret_metrics[MODEL_METRICS_MAX], struct error *err);

#endif
