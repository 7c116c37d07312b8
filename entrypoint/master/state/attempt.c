#include "entrypoint/master/state/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An attempt is a record: the master's parts write what happens into it through the functions here,
 * and read it again when they have to decide. Nothing here acts, raises an event or sends a
 * message. Most news of an attempt comes more than once, from several hosts, from mpirun, and from
 * reports that repeat it. So functions return whether something is new.
 *
 * Ranks and hosts that a message names are checked here, in one place: a rank must exist and run on
 * the host that reports it (attempt_is_rank_of). Times are the master's clock_boot(); 0 means
 * never, so a time is also the flag that something has happened.
 *
 * At the end attempt_facts() lends everything to the verdict (outcome/verdict.h), which is the only
 * judge of it. */

/* A table by rank, so that a message about a rank is checked without a search. */
static void place_ranks(struct attempt *a, const struct cluster *cluster) {
    for (size_t i = 0; i < a->ranks; i++)
        a->rank_host[i] = (unsigned)cluster_host_of_rank(cluster, i);
}

/* On failure what was allocated stays in A, and attempt_done() frees it. Sizes never change while
 * the attempt lasts. */
int attempt_open(struct attempt *a, unsigned number, const struct cluster *cluster,
                 struct error *err) {
    a->number = number;
    a->ranks = cluster_ranks(cluster);
    a->hosts = cluster->count;
    a->rank_host = calloc(a->ranks, sizeof(*a->rank_host));
    a->started = calloc(a->ranks, sizeof(*a->started));
    a->reported = calloc(a->ranks, sizeof(*a->reported));
    a->quiet = (char **)calloc(a->ranks, sizeof(*a->quiet));
    a->reports = calloc(a->ranks, sizeof(*a->reports));
    a->forgone = calloc(a->ranks, sizeof(*a->forgone));
    a->lost = calloc(a->hosts, sizeof(*a->lost));
    a->losses = calloc(a->hosts, sizeof(*a->losses));
    if (a->rank_host == NULL || a->started == NULL || a->reported == NULL || a->quiet == NULL ||
        a->reports == NULL || a->forgone == NULL || a->lost == NULL || a->losses == NULL)
        return error_no_memory(err, "reports");
    place_ranks(a, cluster);
    return straggler_open(&a->straggler, a->ranks, err);
}

/* Works on a zeroed attempt and on one that was opened in part. The number survives, as
 * attempt_forget() counts on from it. */
void attempt_done(struct attempt *a) {
    free(a->rank_host);
    free(a->started);
    free(a->reported);
    for (size_t i = 0; a->quiet != NULL && i < a->ranks; i++)
        free(a->quiet[i]);
    free((void *)a->quiet);
    free(a->reports);
    free(a->forgone);
    free(a->lost);
    for (size_t i = 0; i < a->loss_count; i++)
        free((char *)(uintptr_t)a->losses[i].why);
    free(a->losses);
    straggler_done(&a->straggler);
    *a = (struct attempt){.number = a->number};
}

void attempt_forget(struct attempt *a) {
    attempt_done(a);
    a->number++;
}

/* RANK comes from a message, and may be any number. */
bool attempt_is_rank_of(const struct attempt *a, size_t host, int64_t rank) {
    return rank >= 0 && (uint64_t)rank < a->ranks && a->rank_host[rank] == host;
}

/* --- what happens to it ---------------------------------------------------------------------- */

/* NOW is on clock_now(): it only measures how long the start takes. DIRECT: without mpirun. */
void attempt_launched(struct attempt *a, int64_t now, bool direct) {
    a->direct = direct;
    a->launched = now;
}

void attempt_may_lose(struct attempt *a, int64_t count) {
    a->may_lose = count;
}

/* A repeated message counts once. */
bool attempt_rank_started(struct attempt *a, size_t host, int64_t rank) {
    if (!attempt_is_rank_of(a, host, rank) || a->started[rank])
        return false;
    a->started[rank] = true;
    a->started_count++;
    return attempt_all_started(a);
}

/* A rank may be reported twice. A failure says more than a good end and takes its place; in all
 * other cases the first report stays. At most one report a rank is kept, so the array never
 * overflows. */
bool attempt_report(struct attempt *a, const struct rank_report *r) {
    size_t at = 0;
    if (!attempt_is_rank_of(a, r->host, r->rank))
        return false;
    while (at < a->report_count && a->reports[at].rank != r->rank)
        at++;
    if (at < a->report_count && (rank_report_is_good(r) || !rank_report_is_good(&a->reports[at])))
        return false;
    a->reports[at] = *r;
    a->report_count += at == a->report_count;
    a->reported[r->rank] = true;
    return true;
}

/* No rank is given up while others still start, nor the last one that is left. */
bool attempt_forgo(struct attempt *a, unsigned rank) {
    if (!attempt_all_started(a) || a->failed || a->ending || a->stop_asked != 0 ||
        (int64_t)a->forgone_count >= a->may_lose || a->forgone_count + 1 >= a->ranks)
        return false;
    a->forgone[rank] = true;
    a->forgone_count++;
    return true;
}

/* WHY is copied. There is one loss for each host at most, so the array is never too short. */
void attempt_lose(struct attempt *a, size_t host, int64_t now, const char *why) {
    if (host >= a->hosts || a->lost[host])
        return;
    a->lost[host] = true;
    a->losses[a->loss_count++] =
        (struct verdict_loss){.host = (unsigned)host, .time = now, .why = strdup(why)};
}

/* One line for each stalled rank, in order of arrival, cleaned for the log; what does not fit is
 * cut or left out. Room for the line break and the terminating zero is needed at least. */
static void add_states(struct attempt *a, const char *states) {
    size_t used = strlen(a->stalled_states);
    size_t room = sizeof(a->stalled_states) - used;
    if (states[0] == '\0' || room < 2)
        return;
    if (used > 0) {
        a->stalled_states[used++] = '\n';
        room--;
    }
    rank_report_clean(states, a->stalled_states + used, room);
}

enum attempt_stall attempt_stall(struct attempt *a, size_t host, int64_t rank, const char *states,
                                 int64_t now) {
    if (!attempt_is_rank_of(a, host, rank) || a->stalled_count >= ATTEMPT_STALLED_MAX)
        return ATTEMPT_STALL_NOTHING;
    /* Counted even if the line below has no room left. */
    a->stalled_count++;
    add_states(a, states);
    if (a->stalled != 0)
        return ATTEMPT_STALL_LATER;
    /* Only the first stalled rank is blamed. */
    a->stalled = now;
    a->stalled_rank = (unsigned)rank;
    a->stalled_host = (unsigned)host;
    return ATTEMPT_STALL_FIRST;
}

/* The last finding replaces the one before. */
void attempt_note_stuck(struct attempt *a, const char *text) {
    rank_report_clean(text, a->stuck, sizeof(a->stuck));
}

/* A place is added whole or not at all, so that the list never ends within a name. */
void attempt_note_place(struct attempt *a, unsigned rank, const char *host, const char *place) {
    char one[128];
    const size_t used = strlen(a->others);
    const int size = snprintf(one, sizeof(one), "%srank %u on %s (%.64s)", used > 0 ? ", " : "",
                              rank, host, place);
    if (place[0] != '\0' && size > 0 && (size_t)size < sizeof(one) &&
        used + (size_t)size < sizeof(a->others))
        rank_report_clean(one, a->others + used, sizeof(a->others) - used);
}

/* The rank that printed its exception first may have caused the errors of the others, although it
 * has not ended. */
void attempt_note_exception(struct attempt *a, unsigned rank, const char *host, const char *text,
                            int64_t at) {
    char one[sizeof(a->lasting)];
    if (text[0] == '\0' || (a->lasting[0] != '\0' && a->lasting_since <= at))
        return;
    a->lasting_since = at;
    (void)snprintf(one, sizeof(one), "rank %u on %s, %s", rank, host, text);
    rank_report_clean(one, a->lasting, sizeof(a->lasting));
}

/* Only the range of RANK is checked: mpirun's output tells of the drop, and not the rank's host. */
bool attempt_drop(struct attempt *a, int64_t rank, const struct net_address *source, int64_t now) {
    if (a->dropped != 0 || rank < 0 || (uint64_t)rank >= a->ranks)
        return false;
    a->dropped = now;
    a->dropped_rank = (unsigned)rank;
    a->dropped_source = *source;
    return true;
}

/* A rank that works again clears the report of an odd one, so that the next silence is examined
 * anew. Without memory for STATES the rank counts as busy, which ends nothing. */
void attempt_quiet(struct attempt *a, size_t host, int64_t rank, const char *states) {
    if (!attempt_is_rank_of(a, host, rank))
        return;
    if (states == NULL)
        a->odd_reported = false;
    free(a->quiet[rank]);
    a->quiet[rank] = states != NULL ? strndup(states, RANK_REPORT_EVIDENCE_SIZE - 1) : NULL;
}

/* Walks down, so that the last one found is the first rank. */
int64_t attempt_all_quiet(const struct attempt *a) {
    int64_t first = -1;
    for (size_t i = a->ranks; i-- > 0;) {
        if (a->reported[i])
            continue;
        if (a->quiet[i] == NULL)
            return -1;
        first = (int64_t)i;
    }
    return first;
}

/* Feeds the search for stragglers (outcome/straggler.h). */
void attempt_pace(struct attempt *a, size_t host, int64_t rank,
                  const struct straggler_point *point) {
    if (attempt_is_rank_of(a, host, rank))
        straggler_put(&a->straggler, (size_t)rank, point);
}

/* Ranks that have reported their end are no stragglers. */
bool attempt_find_slow(struct attempt *a, int64_t now, struct straggler_finding *ret) {
    return straggler_judge(&a->straggler, a->reported, now, ret);
}

/* The code counts for the verdict only from here on; it is given as -1 before. */
void attempt_mpirun_ended(struct attempt *a, int code) {
    a->mpirun_code = code;
    a->mpirun_ended = true;
}

/* Writes the tool's end as a sentence for the verdict. A signal is described as that of a rank
 * would be; a code comes with its two usual causes. */
static void note_end(struct attempt *a, const struct attempt_tool *t) {
    char end[RANK_REPORT_END_SIZE];
    if (t->signal > 0)
        rank_report_describe_signal(t->signal, t->memory, end, sizeof(end));
    a->tool = (struct verdict_tool){.time = t->time, .host = t->host, .signal = t->signal};
    if (t->signal > 0)
        (void)snprintf(a->tool_note, sizeof(a->tool_note), "%s: %s was %s", t->host_name, t->name,
                       end);
    else
        (void)snprintf(a->tool_note, sizeof(a->tool_note),
                       "%s: %s ended with %d though no rank had failed: something sent it a "
                       "signal, or it lost its connection to mpirun",
                       t->host_name, t->name, t->code);
}

/* A daemon that ends while its ranks run ends them, too; it exits with 0 after failed ranks. */
enum attempt_note attempt_note_tool(struct attempt *a, const struct attempt_tool *t) {
    /* A time is set with the first end that was recorded, and not by a refusal. */
    bool noted = a->tool.time != 0;
    /* The text is replaced, but the attempt fails only once. */
    if (noted && a->tool.signal == 0 && t->signal > 0) {
        note_end(a, t);
        return ATTEMPT_NOTE_NOTHING;
    }
    /* When mpirun has ended, or the end has begun, daemons end because of that. */
    if (noted || t->code == 0 || a->mpirun_ended || a->ending)
        return ATTEMPT_NOTE_NOTHING;
    a->note_is_refusal = t->refusal[0] != '\0';
    if (!a->note_is_refusal) {
        note_end(a, t);
        return ATTEMPT_NOTE_FAILURE;
    }
    (void)snprintf(a->tool_note, sizeof(a->tool_note), "%s started no %s: %s", t->host_name,
                   t->name, t->refusal);
    return ATTEMPT_NOTE_REFUSAL;
}

/* Called by launch_direct.c and pmi_exchange.c, neither of which has a daemon that could explain
 * more. */
enum attempt_note attempt_note_unstarted(struct attempt *a, unsigned host, const char *host_name,
                                         const char *why, int64_t time) {
    if (a->tool.time != 0 || a->failed || a->ending)
        return ATTEMPT_NOTE_NOTHING;
    a->note_is_refusal = false;
    /* No signal: only the note says what was wrong. */
    a->tool = (struct verdict_tool){.time = time, .host = host};
    (void)snprintf(a->tool_note, sizeof(a->tool_note), "%s: %s", host_name, why);
    return ATTEMPT_NOTE_FAILURE;
}

/* It is not known which host is late, so the note has only the numbers, and a hint at the usual
 * limits. It blames the hosts in a direct launch, else mpirun. */
enum attempt_note attempt_note_overdue(struct attempt *a, const char *host_name, int64_t seconds,
                                       int64_t time) {
    if (a->started_count >= a->ranks || a->tool.time != 0 || a->mpirun_ended || a->ending)
        return ATTEMPT_NOTE_NOTHING;
    a->note_is_refusal = false;
    a->tool = (struct verdict_tool){.time = time};
    (void)snprintf(a->tool_note, sizeof(a->tool_note),
                   "%s: %s started %zu of %zu ranks %" PRId64
                   " s after the launch; %s may lack processes or memory (check ulimit -u and the "
                   "container's limits)",
                   host_name, a->direct ? "the hosts had" : "mpirun had", a->started_count,
                   a->ranks, seconds, a->direct ? "one" : "it");
    return ATTEMPT_NOTE_FAILURE;
}

/* Sets both flags: failed for good, gathering until the ranks get the order to end. */
bool attempt_fail(struct attempt *a) {
    bool first = !a->failed;
    if (first)
        a->failed = a->gathering = true;
    return first;
}

/* From here on a shim that reports is released at once. */
void attempt_end_ranks(struct attempt *a) {
    a->gathering = false;
}

/* The attempt will be judged soon, whatever the reason: what tools say from here on is a
 * consequence. */
void attempt_begin_end(struct attempt *a) {
    a->ending = true;
}

/* --- a stop ---------------------------------------------------------------------------------- */

/* HOST is where the request came in. */
void attempt_stop(struct attempt *a, size_t host, int64_t now) {
    a->stop_asked = now;
    a->stop_host = (unsigned)host;
}

/* The first request counts. Unlike attempt_stop() it is no part of what the verdict is made from.
 */
void attempt_stop_late(struct attempt *a, size_t host, int64_t now) {
    if (attempt_stop_began(a) != 0)
        return;
    a->stop_host = (unsigned)host;
    a->stop_late = now;
}

/* 0: no stop was requested. */
int64_t attempt_stop_began(const struct attempt *a) {
    return a->stop_asked != 0 ? a->stop_asked : a->stop_late;
}

/* However often the stop becomes due, it is sent once. */
bool attempt_send_stop(struct attempt *a) {
    bool first = !a->stop_sent;
    a->stop_sent = true;
    return first;
}

void attempt_stop_signal(struct attempt *a, int number) {
    a->stop_signal = number;
}

/* NUMBER is the signal; 0 means that none has been sent. */
bool attempt_warn(struct attempt *a, int number) {
    bool first = a->warned == 0;
    a->warned = number;
    return first;
}

/* Ends the holding of shims (attempt_holds). */
void attempt_kill(struct attempt *a, int64_t now) {
    a->killed = now;
}

/* --- questions ------------------------------------------------------------------------------- */

bool attempt_holds(const struct attempt *a) {
    return a->stop_sent && a->killed == 0;
}

/* Reports at the end and progress while the rank ran come by different ways; either may be ahead.
 */
uint64_t attempt_step(const struct attempt *a) {
    uint64_t furthest = 0;
    for (size_t i = 0; i < a->report_count; i++)
        if (a->reports[i].step > furthest)
            furthest = a->reports[i].step;
    /* Steps that were reported while the ranks ran. */
    uint64_t heard = straggler_furthest(&a->straggler);
    return heard > furthest ? heard : furthest;
}

bool attempt_all_started(const struct attempt *a) {
    return a->started_count == a->ranks;
}

/* A rank of a lost host may report before the loss is noticed, and then counts like any other. */
bool attempt_is_complete(const struct attempt *a) {
    for (size_t i = 0; i < a->ranks; i++)
        if (!a->reported[i] && !a->lost[a->rank_host[i]])
            return false;
    return true;
}

/* Reports are awaited, and evidence is gathered, from such hosts alone. */
bool attempt_misses(const struct attempt *a, size_t host) {
    for (size_t i = 0; i < a->ranks; i++)
        if (a->rank_host[i] == host && !a->reported[i])
            return true;
    return false;
}

/* Callers that wait for reports ask this to end the waiting early. */
bool attempt_knows_why(const struct attempt *a) {
    return a->failed || a->loss_count > 0 || a->killed != 0;
}

/* Pointers in *RET are good until the attempt is written to again. */
void attempt_facts(const struct attempt *a, const struct cluster *cluster, const char *mpirun_words,
                   struct verdict_facts *ret) {
    *ret = (struct verdict_facts){.cluster = cluster,
                                  .ranks = a->ranks,
                                  .started = a->started_count,
                                  .rank_host = a->rank_host,
                                  .reports = a->reports,
                                  .report_count = a->report_count,
                                  .forgone = a->forgone,
                                  .may_lose = a->may_lose,
                                  .losses = a->losses,
                                  .loss_count = a->loss_count,
                                  .stop_asked = a->stop_asked,
                                  .stop_host = a->stop_host,
                                  .stop_signal = a->stop_signal,
                                  .warned = a->warned,
                                  .killed = a->killed,
                                  .stalled = a->stalled,
                                  .stalled_rank = a->stalled_rank,
                                  .stalled_host = a->stalled_host,
                                  .stalled_states = a->stalled_states,
                                  .stuck = a->stuck,
                                  .others = a->others,
                                  .lasting = a->lasting,
                                  .lasting_since = a->lasting_since,
                                  .dropped = a->dropped,
                                  .dropped_rank = a->dropped_rank,
                                  .dropped_source = &a->dropped_source,
                                  .direct = a->direct,
                                  .mpirun_code = a->mpirun_ended ? a->mpirun_code : -1,
                                  .tool = a->tool,
                                  .tool_words = a->tool_note,
                                  .mpirun_words = mpirun_words};
}
