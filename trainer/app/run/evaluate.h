/* The score of a model on a data set: every image once, over all ranks. */
#ifndef RUN_EVALUATE_H
#define RUN_EVALUATE_H

#include "comm/comm.h"
#include "common/error.h"
#include "common/progress.h"
#include "run/network.h"
#include "set/dataset.h"
#include "set/faults.h"
#include "telemetry/status_line.h"

#include <stdbool.h>
#include <stdint.h>

struct evaluation {
    double top1; /* fractions */
    double top5; /* top-min(5, classes) */
    double loss;
    int64_t images;  /* that were scored */
    int64_t bad;     /* files of the set that were not, so far */
    int64_t damaged; /* and that were read as far as they go */
    bool stopped;    /* a stop came first: the figures mean nothing */
};

struct evaluate_options {
    const struct dataset *set;
    int batch; /* of the network */
    int image_size;
    int resize; /* short side before the centre crop; 0: the default of set/augment.h */
    int threads;
    struct faults *faults;     /* of the set; borrowed */
    int64_t bad_allowed;       /* so many files are left out of the score */
    struct progress *progress; /* marked at each batch */
    uint64_t step;             /* ...with this number */
    struct status_line *line;  /* shows how far it is */
};

/* All ranks together; running statistics are those in the store. */
int evaluate(struct network *net, struct comm *comm, const struct evaluate_options *o,
             struct evaluation *ret, struct error *err);

#endif
