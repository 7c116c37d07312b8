/* Answer of NCCL RAS (NCCL user guide, "RAS"): communicators of which some ranks have started more
 * collective operations than others, and ranks that do not answer RAS.
 *
 * JSON (NCCL 2.28.7 and later) is read in full; of the text for people, what it says of
 * differences. The bytes come from a socket on which anything may listen. Pure. */
#ifndef ENTRYPOINT_EVIDENCE_RAS_ANSWER_H
#define ENTRYPOINT_EVIDENCE_RAS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RAS_ANSWER_MAX = 16 * 1024 * 1024,
    RAS_LAGS_MAX = 16,
    RAS_PROCESSES_MAX = 8,
    RAS_NAME_SIZE = 48,
};

struct ras_process {
    int rank; /* of the communicator */
    int64_t pid;
    char host[RAS_NAME_SIZE]; /* mostly an address */
};

/* Ranks of one communicator that have not come to an operation, or that do not answer. */
struct ras_lag {
    char communicator[RAS_NAME_SIZE]; /* its hash */
    char operation[RAS_NAME_SIZE];    /* "AllReduce"; "": these ranks do not answer RAS */
    int64_t size;                     /* ranks of the communicator; 0: not reported */
    uint64_t ahead;                   /* operations of the ranks that have come */
    uint64_t least;                   /* and the fewest of those that have not */
    size_t count;                     /* ranks that have not come */
    struct ras_process behind[RAS_PROCESSES_MAX]; /* the first of them that the answer lists */
    size_t behind_count;
};

struct ras_answer {
    struct ras_lag lags[RAS_LAGS_MAX];
    size_t count;
};

/* Reads SIZE bytes. Returns false if that is no answer of RAS. */
bool ras_answer_read(const char *bytes, size_t size, struct ras_answer *ret);

#endif
