#include "entrypoint/master/ras_finding.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/master/standing.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>
#include <string.h>

/* NCCL's RAS tells of processes: a rank within a communicator, a process number, and a host, mostly
 * by address. The user thinks in ranks of the job. The number of a process means something only in
 * its own container, so each host that may be meant is asked for the ranks of these numbers
 * (ras_finding_take). When all have answered, or after a second, the finding is put into words and
 * passed to standing.c.
 *
 * One finding is asked about at a time; its number keeps late answers to the one before apart.
 * Answers of hosts and the words of RAS are untrusted: text is cleaned, and a rank must be one of
 * the answering host's own. */

/* In place of a process's rank: UNKNOWN as long as no host has named one, SEVERAL if two ranks were
 * named. */
enum { WORD_SIZE = 64, UNKNOWN = -1, SEVERAL = -2 };

/* Time for hosts to answer. The finding is then reported with what is known. */
static const int64_t patience = CLOCK_SECOND;

/* --- what RAS says ---------------------------------------------------------------------------- */

/* Text from a socket on which anything may listen: it is cut to its place, and cleaned for the log.
 */
static void take_word(const json_t *value, char ret[WORD_SIZE]) {
    const char *text = json_string_value(value);
    rank_report_clean(text != NULL ? text : "", ret, WORD_SIZE);
}

static int64_t number(const json_t *found, const char *key) {
    return json_integer_value(json_object_get(found, key));
}

/* Of a process that has not come: its number, and the rank of the communicator that it is. */
static int64_t pid_of(const json_t *late, size_t i) {
    return json_integer_value(json_array_get(json_array_get(late, i), 1));
}

/* Compares names and addresses alike, as TEXT may be either. */
static bool is_host(const struct cluster_host *host, const char *text) {
    struct net_address address;
    return strcmp(host->name.text, text) == 0 ||
           (net_address_parse(text, &address) && net_address_equal(&host->address, &address));
}

/* Returns true if RAS calls the host of process I as it may be called. NCCL says an address or a
 * name. */
static bool is_on(const struct master *m, const json_t *late, size_t i, size_t host) {
    char text[WORD_SIZE];
    take_word(json_array_get(json_array_get(late, i), 2), text);
    return is_host(&m->s.job->cluster.hosts[host], text);
}

/* --- in words --------------------------------------------------------------------------------- */

/* Returns the job's name of the host that RAS calls TEXT; TEXT itself if it is none of the job's
 * hosts. */
static const char *host_of(const struct master *m, const char *text) {
    const struct cluster *c = &m->s.job->cluster;
    for (size_t i = 0; i < c->count; i++)
        if (is_host(&c->hosts[i], text))
            return c->hosts[i].name.text;
    return text;
}

/* Appends process I: "rank 3 on algo-2" where its rank is known, else "its rank 1 on algo-2
 * (process 71)". Ranks of a communicator that has all ranks of the job are the job's. */
static void add_process(const struct master *m, const json_t *late, size_t i, bool is_world,
                        struct stuck_finding *ret) {
    char host[WORD_SIZE];
    const size_t used = strlen(ret->text);
    char *to = ret->text + used;
    const size_t room = sizeof(ret->text) - used;
    const char *comma = i == 0 ? ": " : ", ";
    int64_t rank = i < RAS_PROCESSES_MAX ? m->standing.ras_ranks[i] : UNKNOWN;
    if (rank >= 0) {
        const size_t at = m->attempt.rank_host[rank];
        (void)snprintf(to, room, "%srank %lld on %s", comma, (long long)rank,
                       supervisor_host_name(&m->s, at));
    } else {
        const int64_t own = json_integer_value(json_array_get(json_array_get(late, i), 0));
        take_word(json_array_get(json_array_get(late, i), 2), host);
        (void)snprintf(to, room, "%s%s %lld on %s (process %lld)", comma,
                       is_world ? "rank" : "its rank", (long long)own, host_of(m, host),
                       (long long)pid_of(late, i));
        rank = is_world && own >= 0 && own < (int64_t)m->attempt.ranks ? own : UNKNOWN;
    }
    /* The first process with a known rank stands for all of them: it is the one that a limit on
     * stalls ends the job for. */
    if (ret->rank < 0 && rank >= 0)
        ret->rank = (int)rank;
}

/* Writes "NCCL's AllReduce number 7 of communicator 0x1a waits for 1 of 8 ranks: rank 3 on algo-2".
 * Without the name of an operation RAS has merely had no answer of these ranks. */
static void describe(const struct master *m, const json_t *found, struct stuck_finding *ret) {
    char communicator[WORD_SIZE];
    char operation[WORD_SIZE];
    int64_t count = number(found, "count");
    int64_t size = number(found, "size");
    char of[32] = "";
    const char *plural = STR_PLURAL(size > 0 ? size : count);
    const json_t *late = json_object_get(found, "late");
    take_word(json_object_get(found, "communicator"), communicator);
    take_word(json_object_get(found, "operation"), operation);
    if (size > 0)
        (void)snprintf(of, sizeof(of), " of %lld", (long long)size);
    *ret = (struct stuck_finding){.rank = -1, .other = -1};
    if (operation[0] == '\0')
        (void)snprintf(ret->text, sizeof(ret->text),
                       "NCCL hears nothing of %lld%s rank%s of communicator %s", (long long)count,
                       of, plural, communicator);
    else
        (void)snprintf(ret->text, sizeof(ret->text),
                       "NCCL's %s number %lld of communicator %s waits for %lld%s rank%s",
                       operation, (long long)number(found, "ahead"), communicator, (long long)count,
                       of, plural);
    for (size_t i = 0; i < json_array_size(late); i++)
        add_process(m, late, i, size == (int64_t)m->attempt.ranks, ret);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Ends the questions, with all answers or without, and tells the finding. */
static void conclude(struct master *m) {
    struct stuck_finding finding;
    describe(m, m->standing.ras_found, &finding);
    ras_finding_drop(m);
    standing_found(m, &finding);
}

static void time_is_over(void *context) {
    conclude(context);
}

/* Asks HOST about those processes that may be its own. Returns false if there are none. */
static bool ask(struct master *m, const json_t *late, size_t host) {
    json_t *pids = json_array();
    for (size_t i = 0; i < json_array_size(late) && i < RAS_PROCESSES_MAX; i++)
        if (is_on(m, late, i, host))
            (void)json_array_append_new(pids, json_integer((json_int_t)pid_of(late, i)));
    /* A lost host cannot answer, and its processes keep the names that RAS gives them. */
    if (json_array_size(pids) == 0 || m->attempt.lost[host]) {
        json_decref(pids);
        return false;
    }
    master_send(m, host,
                message_with(MESSAGE_PROCESSES,
                             json_pack("{s:I, s:o}", "number", (json_int_t)m->standing.ras_number,
                                       "pids", pids)));
    return true;
}

void ras_finding_take(struct master *m, json_t *found) {
    const json_t *late = json_object_get(found, "late");
    if (m->standing.ras_found != NULL)
        return;
    /* The caller keeps its own reference. */
    m->standing.ras_found = json_incref(found);
    m->standing.ras_number++;
    m->standing.ras_waiting = 0;
    for (size_t i = 0; i < RAS_PROCESSES_MAX; i++)
        m->standing.ras_ranks[i] = UNKNOWN;
    /* Counts the hosts that were asked; without any there is nothing to wait for. */
    for (size_t i = 0; i < m->attempt.hosts; i++)
        m->standing.ras_waiting += ask(m, late, i);
    if (m->standing.ras_waiting == 0) {
        conclude(m);
        return;
    }
    m->standing.ras_deadline = (struct timer){.fire = time_is_over, .context = m};
    loop_after(&m->s.loop, &m->standing.ras_deadline, patience);
}

static void take_owner(const struct member *b, int64_t pid, int64_t rank) {
    struct master *m = b->master;
    const json_t *late = json_object_get(m->standing.ras_found, "late");
    if (!attempt_is_rank_of(&m->attempt, b->index, rank))
        return;
    for (size_t i = 0; i < json_array_size(late) && i < RAS_PROCESSES_MAX; i++) {
        int64_t *known = &m->standing.ras_ranks[i];
        /* Containers that share an address may both have a process of that number. */
        if (pid_of(late, i) == pid && is_on(m, late, i, b->index))
            *known = *known == UNKNOWN || *known == rank ? rank : SEVERAL;
    }
}

void ras_finding_answered(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const json_t *owners = json_object_get(message, "owners");
    /* An answer that comes after its deadline, or to an earlier question, would count down the
     * wrong number. */
    if (m->standing.ras_found == NULL || number(message, "number") != m->standing.ras_number)
        return;
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *pair = json_array_get(owners, i);
        if (json_is_integer(json_array_get(pair, 1)))
            take_owner(b, json_integer_value(json_array_get(pair, 0)),
                       json_integer_value(json_array_get(pair, 1)));
    }
    if (--m->standing.ras_waiting == 0)
        conclude(m);
}

void ras_finding_drop(struct master *m) {
    if (m->standing.ras_found == NULL)
        return;
    loop_cancel(&m->s.loop, &m->standing.ras_deadline);
    json_decref(m->standing.ras_found);
    m->standing.ras_found = NULL;
}
