#include "trainer/app/step/run_timeline.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "trainer/comm/gather.h"
#include "trainer/telemetry/trace_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On the thread that works with other ranks. */
static void take_work(void *user, enum work_kind work, int64_t begin, int64_t end, size_t bytes) {
    static const enum timeline_kind kinds[] = {[WORK_SUM] = TIMELINE_SUM,
                                               [WORK_SHARE_SUM] = TIMELINE_SUM,
                                               [WORK_SHARE_SPREAD] = TIMELINE_GATHER,
                                               [WORK_BROADCAST] = TIMELINE_BROADCAST,
                                               [WORK_GATHER] = TIMELINE_GATHER,
                                               [WORK_BARRIER] = TIMELINE_BARRIER,
                                               [WORK_SPLIT] = TIMELINE_BARRIER,
                                               [WORK_RELEASE] = TIMELINE_BARRIER,
                                               [WORK_MOVE] = TIMELINE_GATHER,
                                               [WORK_NARROW] = TIMELINE_BARRIER};
    struct run_timeline *t = user;
    const struct timeline_span span = {begin, end, (int64_t)bytes, kinds[work]};
    timeline_add(&t->works, &span);
}

int run_timeline_open(struct run_timeline *t, const char *path, struct comm *comm,
                      struct error *err) {
    size_t room = RUN_TIMELINE_SPANS / 2 / (size_t)comm_size(comm);
    room = room > RUN_TIMELINE_RANK_MAX   ? RUN_TIMELINE_RANK_MAX
           : room < RUN_TIMELINE_RANK_MIN ? RUN_TIMELINE_RANK_MIN
                                          : room;
    *t = (struct run_timeline){.path = path};
    if (path == NULL)
        return 0;
    if (comm_rank(comm) == 0 && output_path_check(path, &TRACE_FILE_KIND, "--timeline", err) != 0)
        return -1;
    if (timeline_open(&t->steps, room, err) != 0 || timeline_open(&t->works, room, err) != 0 ||
        clock_offset_measure(comm, &t->start, err) != 0)
        return error_wrap(err, "--timeline");
    comm_observe(comm, (struct comm_observer){take_work, t});
    return 0;
}

void run_timeline_done(struct run_timeline *t) {
    timeline_done(&t->steps);
    timeline_done(&t->works);
}

/* Appends the spans of FROM, on the clock of rank 0. */
static int add_spans(const struct run_timeline *t, const struct clock_offset *end,
                     const struct timeline *from, struct buf *out, struct error *err) {
    for (size_t i = 0; i < timeline_count(from); i++) {
        struct timeline_span span = *timeline_at(from, i);
        span.begin = clock_offset_apply(&t->start, end, span.begin);
        span.end = clock_offset_apply(&t->start, end, span.end);
        if (buf_add(out, &span, sizeof(span), err) != 0)
            return -1;
    }
    return 0;
}

/* What rank 0 has to know of each rank. */
struct place {
    char host[TRACE_HOST_SIZE];
    int64_t clock_error;
};

static int write_file(const struct run_timeline *t, const struct gathered *all,
                      const struct place *places, size_t count, struct error *err) {
    cleanup_free struct trace_rank *ranks = calloc(count, sizeof(*ranks));
    if (ranks == NULL)
        return error_no_memory(err, "ranks of a timeline");
    for (size_t r = 0; r < count; r++) {
        memcpy(ranks[r].host, places[r].host, TRACE_HOST_SIZE);
        ranks[r].clock_error = places[r].clock_error;
        ranks[r].host[TRACE_HOST_SIZE - 1] = '\0';
        ranks[r].spans = (const void *)(all->bytes.data + all->offsets[r]);
        ranks[r].count = (size_t)(all->offsets[r + 1] - all->offsets[r]) / sizeof(*ranks[r].spans);
    }
    return trace_file_write(t->path, ranks, count, err);
}

int run_timeline_write(struct run_timeline *t, struct comm *comm, struct error *err) {
    const size_t count = (size_t)comm_size(comm);
    const uint64_t most = (uint64_t)(2 * RUN_TIMELINE_SPANS) * sizeof(struct timeline_span);
    struct clock_offset end;
    struct place own = {{0}, 0};
    if (t->path == NULL)
        return 0;
    comm_observe(comm, (struct comm_observer){NULL, NULL});
    cleanup_buf struct buf spans = {.max =
                                        4 * RUN_TIMELINE_RANK_MAX * sizeof(struct timeline_span)};
    cleanup_gathered struct gathered all = {0};
    cleanup_free struct place *places = calloc(count, sizeof(*places));
    if (places == NULL)
        return error_no_memory(err, "hosts of a timeline");
    if (clock_offset_measure(comm, &end, err) != 0)
        return error_wrap(err, "--timeline");
    (void)gethostname(own.host, sizeof(own.host) - 1);
    own.clock_error = end.error > t->start.error ? end.error : t->start.error;
    if (comm_gather(comm, &own, sizeof(own), places, err) != 0 ||
        add_spans(t, &end, &t->steps, &spans, err) != 0 ||
        add_spans(t, &end, &t->works, &spans, err) != 0 ||
        comm_gather_blocks(comm, spans.data, spans.size, 0, most, &all, err) != 0)
        return error_wrap(err, "--timeline");
    struct error why = {0};
    if (comm_rank(comm) != 0)
        return 0;
    if (write_file(t, &all, places, count, &why) != 0)
        log_warning("--timeline: %s", why.text);
    else
        log_info("timeline of %zu %s in %s; Perfetto and chrome://tracing open it", count,
                 count == 1 ? "rank" : "ranks", t->path);
    return 0;
}
