/* Model with its parameters and compiled programs.
 *
 * One store of parameters is shared by a program for each canvas (a size of the input), one for
 * evaluation and, if the network is trained, one for training. The programs run in turn and share
 * their memory, unless they are kept apart. */
#ifndef TRAINER_APP_STEP_NETWORK_H
#define TRAINER_APP_STEP_NETWORK_H

#include "common/error.h"
#include "trainer/app/task/task.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/program/program.h"
#include "trainer/models/model.h"

enum { NETWORK_CANVASES_MAX = 8 };

struct network_canvas {
    int height, width; /* pixels */
    int batch;         /* 0: that of the options */
};

struct network_options {
    const char *model;
    int batch;
    int image_size; /* of the only canvas if canvas_count is 0 */
    struct network_canvas canvases[NETWORK_CANVASES_MAX];
    int canvas_count;
    int classes;
    struct model_objects objects;
    bool zero_gamma;
    enum dtype dtype;
    enum fusion fusion;
    unsigned keeps;         /* of the optimizer, in training (graph/graph.h); 0: momentum */
    double label_smoothing; /* in training only; evaluation reports the plain loss */
    double dropout;         /* in training only */
    const double *mean;     /* of pixels in 0..1, RGB */
    const double *std;
    bool apart;                   /* each pass has memory of its own: its weights stay packed
                                   * while others run */
    bool one_stream;              /* compile_options */
    struct compile_memory memory; /* the same */
};

/* An input of a compiled pass. */
struct pass_input {
    int tensor;    /* its number in the graph */
    size_t bytes;  /* the whole input */
    size_t offset; /* in memory that holds all inputs of a pass one after the other, aligned */
    void *address; /* the program's */
};

struct pass {
    const struct model *model; /* borrowed */
    struct graph graph;
    struct program program;
    struct pass_input inputs[BATCH_FIELDS_MAX];
    size_t input_bytes; /* of memory that holds them all */
    int input_count;
    int metrics; /* tensor number */
};

struct network {
    struct backend *backend;   /* borrowed */
    const struct model *model; /* borrowed */
    struct store store;
    struct program_memory memory;
    int canvases;                            /* number of passes in each list, indexed by the
                                              * canvas of a batch */
    struct pass train[NETWORK_CANVASES_MAX]; /* empty without training */
    struct pass eval[NETWORK_CANVASES_MAX];
};

void network_done(struct network *net);
/* Builds and compiles all passes, or only those for evaluation. The store is all zero afterwards:
 * initialize or load it. NET must not move. */
int network_open(struct network *net, struct backend *backend, const struct network_options *o,
                 bool training, struct error *err);

/* Builds the training pass of the first canvas in RET, forward alone and as the model describes it:
 * not compiled. Call graph_done on RET in any case. */
int network_describe(struct graph *ret, const struct network *net, const struct network_options *o,
                     struct error *err);

/* Fails if MODEL cannot take pictures with that side. Needs no data and compiles nothing. */
int network_check_side(const struct model *model, int side, struct error *err);

/* Returns the pass of PASSES (net->train or net->eval) for BATCH, or NULL if there is no such
 * canvas. */
struct pass *network_pass(const struct network *net, struct pass *passes, const struct batch *batch,
                          struct error *err);
/* Returns the values of BATCH for an input of PASS, 0 .. input_count - 1, or NULL if BATCH lacks
 * that field or its size differs. */
const void *pass_values(const struct pass *pass, int input, const struct batch *batch,
                        struct error *err);
/* Makes BATCH the input of the next run of PASS. */
int pass_feed(struct pass *pass, const struct batch *batch, struct error *err);
/* Returns the outputs of the last run; METRICS is borrowed. */
struct task_outputs pass_outputs(struct pass *pass, const float *metrics);
/* Returns the metrics of the last run, in the order of the model's list. */
int pass_metrics(struct pass *pass, float ret_metrics[MODEL_METRICS_MAX], struct error *err);

#endif
