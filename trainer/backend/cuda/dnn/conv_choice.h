/* Choice among cuDNN's plans for one pass, and a device's passes. */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONV_CHOICE_H
#define TRAINER_BACKEND_CUDA_DNN_CONV_CHOICE_H

#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/dnn/conv_table.h"
#include "trainer/backend/cuda/dnn/dnn_plan.h"

#include <stddef.h>
#include <stdint.h>

struct convs {
    cudnnHandle_t dnn;
    struct dnn_device device;
    double bytes_per_ms;         /* bandwidth of a copy on the device; 0: not measured yet */
    float *zeros, *ones;         /* CONV_CHANNELS_MAX each, on the device; one allocation */
    struct conv_choice *choices; /* list; one for each distinct convolution pass */
};

enum {
    CONV_CANDIDATES = DNN_PLANS_MAX /* number timed when tuning: all that the heuristics offer */
};
/* Size of constants, and of results that are not used. */
enum { CONV_CHANNELS_MAX = 8192 };
#define CONV_WORKSPACE_MAX (INT64_C(1) << 30)

enum conv_pays { CONV_PAYS_UNKNOWN, CONV_PAYS, CONV_LOSES };

struct conv_choice {
    struct conv_choice *next;
    enum dnn_pattern pattern;
    enum dtype type;
    struct dnn_conv conv;
    struct dnn_graph graph;
    struct dnn_plan_list plans;
    int64_t workspace;   /* maximum over the candidates */
    int chosen;          /* index into plans, -1 while undecided */
    float ms;            /* its time; 0: not measured */
    enum conv_pays pays; /* for a fused one: whether it is faster than the unfused operators */
};

struct conv_operands {
    int64_t ids[CONV_OPERANDS_MAX];
    void *addresses[CONV_OPERANDS_MAX];
    size_t scratch[CONV_OPERANDS_MAX]; /* bytes that tuning may overwrite; 0: none */
    int count;
    void *workspace;
};

#endif
