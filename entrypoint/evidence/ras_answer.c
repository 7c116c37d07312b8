#include "entrypoint/evidence/ras_answer.h"

#include "common/json/json.h"
#include "common/str.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The answer has one of two forms. JSON has the number of operations of each kind for each rank, so
 * a lag is computed: ranks that have fewer than the most. Text is written for people and has only
 * the communicators with differences; it lists the largest group of ranks by a number and the
 * others one by one.
 *
 * Anything may listen at the address, so nothing in the answer is trusted: names lose all bytes
 * that are not printable ASCII, numbers are bounded before they are used, and lists are cut at the
 * size of the structures. What does not fit the form is skipped, not reported: another version of
 * NCCL may say more than is known here. */

/* The longest line of the text that is looked at; the rest of a longer one is dropped. */
enum { LINE_SIZE = 512 };

/* Text of RAS as a name, for logs and reports: only printable ASCII without blanks is kept, so it
 * can neither end a line nor act on a terminal. RET is cut at its size. */
static void take_name(const char *text, char ret[RAS_NAME_SIZE]) {
    size_t used = 0;
    for (; *text != '\0' && used < RAS_NAME_SIZE - 1; text++)
        if (*text > ' ' && *text < 0x7f)
            ret[used++] = *text;
    ret[used] = '\0';
}

/* NULL once RAS_LAGS_MAX are there: one is enough to name a late rank. The new one is zeroed, so a
 * list that is never filled is empty. */
static struct ras_lag *add_lag(struct ras_answer *a) {
    if (a->count >= RAS_LAGS_MAX)
        return NULL;
    a->lags[a->count] = (struct ras_lag){0};
    return &a->lags[a->count++];
}

/* The count of late ranks continues beyond the few that are kept by name. */
static void add_process(struct ras_lag *lag, int64_t rank, int64_t pid, const char *host) {
    if (lag->behind_count >= RAS_PROCESSES_MAX || rank < 0 || rank > INT_MAX)
        return;
    struct ras_process *p = &lag->behind[lag->behind_count++];
    *p = (struct ras_process){.rank = (int)rank, .pid = pid};
    take_name(host, p->host);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* 0 for what is missing or no whole number, "" for what is no text: both are then left out or
 * bounded by the caller. */
static int64_t number_of(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* A negative count, which RAS never sends, is none. */
static uint64_t count_of(const json_t *rank, const char *operation) {
    int64_t count = number_of(json_object_get(rank, "collective_counts"), operation);
    return count > 0 ? (uint64_t)count : 0;
}

/* SIZE stays 0 where the answer does not tell it. */
static void begin_lag(struct ras_lag *lag, const json_t *communicator, const char *operation) {
    take_name(text_of(communicator, "hash"), lag->communicator);
    take_name(operation, lag->operation);
    lag->size = number_of(communicator, "size");
}

/* One kind of operation on one communicator. Ranks without a count for it have launched none. Two
 * passes: the most and the fewest have to be known before ranks can be called late. */
static void compare(const json_t *communicator, const char *operation, struct ras_answer *ret) {
    const json_t *ranks = json_object_get(communicator, "ranks");
    uint64_t ahead = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < json_array_size(ranks); i++) {
        uint64_t own = count_of(json_array_get(ranks, i), operation);
        ahead = own > ahead ? own : ahead;
        least = own < least ? own : least;
    }
    struct ras_lag *lag = least < ahead ? add_lag(ret) : NULL;
    if (lag == NULL)
        return;
    begin_lag(lag, communicator, operation);
    lag->ahead = ahead;
    lag->least = least;
    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const json_t *rank = json_array_get(ranks, i);
        if (count_of(rank, operation) == ahead)
            continue;
        lag->count++;
        add_process(lag, number_of(rank, "rank"), number_of(rank, "pid"), text_of(rank, "host"));
    }
}

/* Ranks that do not answer RAS at all, such as those of a dead host, count as a lag without an
 * operation. */
static void take_missing(const json_t *communicator, struct ras_answer *ret) {
    const json_t *missing = json_object_get(communicator, "missing_ranks");
    struct ras_lag *lag = json_array_size(missing) > 0 ? add_lag(ret) : NULL;
    if (lag == NULL)
        return;
    begin_lag(lag, communicator, "");
    lag->count = json_array_size(missing);
    for (size_t i = 0; i < lag->count; i++) {
        const json_t *rank = json_array_get(missing, i);
        add_process(lag, number_of(rank, "rank"), number_of(rank, "pid"), text_of(rank, "host"));
    }
}

/* The first rank's counts name the kinds of operations; a kind that only others have is not
 * compared. Duplicate keys are refused, as one of them would win silently. */
static bool read_json(const char *bytes, size_t size, struct ras_answer *ret) {
    cleanup_json json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *communicators = json_object_get(root, "communicators");
    if (!json_is_array(communicators))
        return false;
    for (size_t i = 0; i < json_array_size(communicators); i++) {
        const json_t *c = json_array_get(communicators, i);
        json_t *counts =
            json_object_get(json_array_get(json_object_get(c, "ranks"), 0), "collective_counts");
        take_missing(c, ret);
        for (void *at = json_object_iter(counts); at != NULL;
             at = json_object_iter_next(counts, at))
            compare(c, json_object_iter_key(at), ret);
    }
    return true;
}

/* --- text ------------------------------------------------------------------------------------- */

/* State of the reader of lines. */
struct text {
    char communicator[RAS_NAME_SIZE];
    struct ras_lag *lag; /* of the operation that is being read; NULL: none */
    uint64_t group;      /* operations of the ranks that are listed next */
    size_t all;          /* ranks that were counted */
};

/* Moves ranks to the right side of a lag: ranks with fewer operations than AHEAD are late. */
static void count_ranks(struct text *t, size_t ranks, uint64_t value) {
    struct ras_lag *lag = t->lag;
    if (value > lag->ahead) {
        if (t->all > 0)
            lag->least = lag->ahead < lag->least || lag->count == 0 ? lag->ahead : lag->least;
        lag->count = t->all;
        lag->ahead = value;
    } else if (value < lag->ahead) {
        lag->least = lag->count == 0 || value < lag->least ? value : lag->least;
        lag->count += ranks;
    }
    t->all += ranks;
    t->group = value;
}

/* The process follows on the same line, or is absent. */
static void list_rank(struct text *t, const char *line, int64_t rank) {
    const char *at = strstr(line, "managed by process ");
    int64_t pid = 0;
    char host[RAS_NAME_SIZE] = "";
    if (at != NULL)
        (void)sscanf(at, "managed by process %" SCNd64 " on node %47s", &pid, host);
    /* Which side it is on is known for all but the first group, which is the largest. */
    if (t->group < t->lag->ahead)
        add_process(t->lag, rank, pid, host);
}

/* "different status" is about ranks that fail, not about operations, and is skipped. */
static void begin_operation(struct text *t, const char *line, struct ras_answer *ret) {
    char operation[RAS_NAME_SIZE] = "";
    t->lag = NULL;
    t->all = 0;
    if (sscanf(line, " Communicator ranks have different %47s", operation) != 1 ||
        strcmp(operation, "status") == 0)
        return;
    t->lag = add_lag(ret);
    if (t->lag == NULL)
        return;
    take_name(strcmp(operation, "collective") == 0 ? "collective operation" : operation,
              t->lag->operation);
    (void)snprintf(t->lag->communicator, sizeof(t->lag->communicator), "%s", t->communicator);
}

/* The order of the patterns matters: a communicator's line ends the operation before it, and lines
 * of ranks mean something only within an operation. %n tells whether the whole pattern was there,
 * because sscanf() counts only conversions. */
static void take_line(struct text *t, const char *line, struct ras_answer *ret) {
    int64_t ranks = 0;
    int64_t rank = 0;
    uint64_t value = 0;
    char name[RAS_NAME_SIZE] = "";
    int end = 0;
    if (sscanf(line, "#%*u-%*u (%47[^)])", name) == 1) {
        take_name(name, t->communicator);
        t->lag = NULL;
    } else if (strstr(line, "Communicator ranks have different ") != NULL) {
        begin_operation(t, line, ret);
    } else if (t->lag == NULL) {
        return;
    } else if (sscanf(line, " %" SCNd64 " ranks have launched up to operation %" SCNu64, &ranks,
                      &value) == 2 &&
               ranks > 0 && ranks < INT_MAX) {
        count_ranks(t, (size_t)ranks, value);
    } else if (sscanf(line, " %" SCNd64 " ranks have not launched any operations%n", &ranks,
                      &end) == 1 &&
               end > 0 && ranks > 0 && ranks < INT_MAX) {
        count_ranks(t, (size_t)ranks, 0);
    } else if (sscanf(line, " Rank %" SCNd64 " has launched up to operation %" SCNu64, &rank,
                      &value) == 2) {
        count_ranks(t, 1, value);
        list_rank(t, line, rank);
    } else if (sscanf(line, " Rank %" SCNd64 " has not launched any operations%n", &rank, &end) ==
                   1 &&
               end > 0) {
        count_ranks(t, 1, 0);
        list_rank(t, line, rank);
    } else if (sscanf(line, " Rank %" SCNd64 " --%n", &rank, &end) == 1 && end > 0) {
        list_rank(t, line, rank);
    }
}

/* Two headings of RAS's text tell it from any other. Lags without a late rank are removed at the
 * end, as a group may turn out to be all there is. */
static bool read_text(const char *bytes, size_t size, struct ras_answer *ret) {
    struct text t = {0};
    if (memmem(bytes, size, "Job summary", sizeof("Job summary") - 1) == NULL &&
        memmem(bytes, size, "Communicators...", sizeof("Communicators...") - 1) == NULL)
        return false;
    for (const char *end = bytes + size; bytes < end;) {
        char line[LINE_SIZE];
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t length = (size_t)((stop != NULL ? stop : end) - bytes);
        size_t fit = length < sizeof(line) ? length : sizeof(line) - 1;
        memcpy(line, bytes, fit);
        line[fit] = '\0';
        take_line(&t, line, ret);
        bytes += length + 1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < ret->count; i++)
        if (ret->lags[i].count > 0)
            ret->lags[kept++] = ret->lags[i];
    ret->count = kept;
    return true;
}

/* The first character tells the forms apart: JSON begins with a brace, the text with words. */
bool ras_answer_read(const char *bytes, size_t size, struct ras_answer *ret) {
    size_t blanks = 0;
    *ret = (struct ras_answer){0};
    while (blanks < size && (bytes[blanks] == ' ' || bytes[blanks] == '\n'))
        blanks++;
    if (blanks < size && bytes[blanks] == '{')
        return read_json(bytes, size, ret);
    return read_text(bytes, size, ret);
}
