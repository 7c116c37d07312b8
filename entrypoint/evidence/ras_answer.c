#include "entrypoint/evidence/ras_answer.h"

#include "common/json/json.h"
#include "common/str.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 512 };

/* Text of RAS as a name: letters of other kinds are left out. */
static void take_name(const char *text, char ret[RAS_NAME_SIZE]) {
    size_t used = 0;
    for (; *text != '\0' && used < RAS_NAME_SIZE - 1; text++)
        if (*text > ' ' && *text < 0x7f)
            ret[used++] = *text;
    ret[used] = '\0';
}

static struct ras_lag *add_lag(struct ras_answer *a) {
    if (a->count >= RAS_LAGS_MAX)
        return NULL;
    a->lags[a->count] = (struct ras_lag){0};
    return &a->lags[a->count++];
}

static void add_process(struct ras_lag *lag, int64_t rank, int64_t pid, const char *host) {
    if (lag->behind_count >= RAS_PROCESSES_MAX || rank < 0 || rank > INT_MAX)
        return;
    struct ras_process *p = &lag->behind[lag->behind_count++];
    *p = (struct ras_process){.rank = (int)rank, .pid = pid};
    take_name(host, p->host);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static int64_t number_of(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static uint64_t count_of(const json_t *rank, const char *operation) {
    int64_t count = number_of(json_object_get(rank, "collective_counts"), operation);
    return count > 0 ? (uint64_t)count : 0;
}

static void begin_lag(struct ras_lag *lag, const json_t *communicator, const char *operation) {
    take_name(text_of(communicator, "hash"), lag->communicator);
    take_name(operation, lag->operation);
    lag->size = number_of(communicator, "size");
}

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

bool ras_answer_read(const char *bytes, size_t size, struct ras_answer *ret) {
    size_t blanks = 0;
    *ret = (struct ras_answer){0};
    while (blanks < size && (bytes[blanks] == ' ' || bytes[blanks] == '\n'))
        blanks++;
    if (blanks < size && bytes[blanks] == '{')
        return read_json(bytes, size, ret);
    return read_text(bytes, size, ret);
}
