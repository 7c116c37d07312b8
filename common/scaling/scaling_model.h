/* Model of the time of a training step over the ranks.
 *
 * Each rank has the same batch:
 *
 *     t(n) = t(n0) f(n) / f(n0) + max(0, C(n) - h) + s log2(n / n0)
 *     C(n) = k a log2(n) + b 2 (n - 1) / n bytes
 *
 * t(n0) is the step of the smallest measured size. f is how many compute threads share a core where
 * a host has most ranks, 1 at least: where ranks are more than cores, each computes so much longer.
 * It is known, not fitted. C is the time of the step's all-reduces: k of them, with a latency a for
 * each doubling of the ranks, and b seconds a byte over a ring (Thakur et al. 2005, "Optimization
 * of collective communication operations in MPICH"). h is the part that computation hides. s is
 * what communication does not explain: ranks that wait for the slowest, or share memory. a and b
 * are measured among growing numbers of ranks (scaling_comm); h and s are fitted. Where they were
 * not measured, a term in log2(n) or in (n - 1) / n is fitted instead, the one that lies closer to
 * the measured steps.
 *
 * Times are of one sample a rank, in seconds: batch and step time cancel. Pure. */
#ifndef COMMON_SCALING_SCALING_MODEL_H
#define COMMON_SCALING_SCALING_MODEL_H

#include <stddef.h>

/* One all-reduce of BYTES among RANKS. */
struct scaling_reduce {
    int ranks;
    double bytes;
    double seconds;
};

/* All-reduces of a step, and what they cost here. */
struct scaling_comm {
    int ranks;       /* the most that were measured; 0: none were */
    double latency;  /* a, seconds */
    double byte;     /* b, seconds a byte: the inverse of the bus bandwidth */
    double bytes;    /* that a step sums */
    double buckets;  /* k */
    double per_step; /* samples of a rank in a step; set by scaling_conclude */
};

/* The time of one sample a rank. */
struct scaling_sample {
    int ranks;
    double seconds;
    double crowd; /* f: compute threads a core; less than 1 counts as 1 */
};

enum scaling_form {
    SCALING_NO_MODEL, /* fewer than two sizes */
    SCALING_MEASURED, /* with a and b of scaling_comm */
    SCALING_LATENCY,  /* grows with log2(n) */
    SCALING_RING,     /* grows with 2 (n - 1) / n */
};

struct scaling_model {
    enum scaling_form form;
    struct scaling_sample base; /* n0 */
    double hidden;              /* h */
    double slope;               /* s, or that of the fitted term */
};

/* The model fitted to the smaller half of the sizes, and the largest of the others. */
struct scaling_check {
    int fitted;   /* the largest size that it was fitted to; 0: too few sizes */
    int held_out; /* sizes that it was not fitted to */
    double error; /* the largest relative error of their throughput, a share with its sign */
    int worst;    /* the size of that error */
};

/* Fits latency and time a byte to measured all-reduces; returns 0, -1 if they do not suffice. */
int scaling_comm_fit(struct scaling_comm *comm, const struct scaling_reduce *list, size_t count);
/* The seconds of a step's all-reduces among RANKS. */
double scaling_comm_seconds(const struct scaling_comm *comm, int ranks);

/* LIST has ascending ranks. COMM with ranks 0: not measured. */
void scaling_model_fit(struct scaling_model *m, const struct scaling_sample *list, size_t count,
                       const struct scaling_comm *comm);
/* Returns the seconds of a step with CROWD compute threads a core. */
double scaling_model_seconds(const struct scaling_model *m, const struct scaling_comm *comm,
                             int ranks, double crowd);
void scaling_check_held_out(struct scaling_check *c, const struct scaling_sample *list,
                            size_t count, const struct scaling_comm *comm);

#endif
