#include "entrypoint/outcome/verdict.h"

#include "common/str.h"
#include "entrypoint/outcome/first_failure.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An attempt seldom ends for one visible reason: ranks fail because others have failed, a lost host
 * takes ranks along, and mpirun complains of all of it. The outcomes are tried in the order of
 * verdict.h, and the first that applies is the verdict (judge). Times decide between a stop, a
 * failure, a stall and the end of a tool, because what came first cannot be a consequence of what
 * came later.
 *
 * Each judge_...() fills a verdict from nothing and says whether another attempt makes sense
 * (transient). What else is known becomes lines of evidence, the most telling first. Texts are
 * sentences for people, cut to the size of their member; add_forgone() completes them for lost
 * ranks that the job could do without. */

enum {
    CODE_VANISHED = 137, /* a shim that disappears without a report was ended by SIGKILL */
};

/* SageMaker's SDK takes 130 for success (docs/reference/exit-codes.md). */
int verdict_program_code(int code) {
    return code == 130 ? 1 : code;
}

static void fill(struct verdict *v, int code, int host, int rank, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Starts a verdict anew: everything that is not given becomes 0 or empty. */
static void fill(struct verdict *v, int code, int host, int rank, const char *format, ...) {
    *v = (struct verdict){.code = code, .host = host, .rank = rank};
    snprintf(v->class_name, sizeof(v->class_name), "%s", exit_code_class(code));
    va_list args;
    va_start(args, format);
    (void)vsnprintf(v->text, sizeof(v->text), format, args);
    va_end(args);
}

/* What does not fit is cut at the end. */
static void set_log_tail(struct verdict *v, const char *log_tail) {
    size_t size = str_utf8_prefix(log_tail, strlen(log_tail), sizeof(v->log_tail) - 1);
    memcpy(v->log_tail, log_tail, size);
    v->log_tail[size] = '\0';
}

static const char *host_name(const struct verdict_facts *f, unsigned host) {
    return f->cluster->hosts[host].name.text;
}

/* --- first event ------------------------------------------------------------------------------ */

/* A view of the reports for first_failure.c; nothing is copied. */
static struct failures failures_of(const struct verdict_facts *f) {
    return (struct failures){
        .reports = f->reports, .count = f->report_count, .forgone = f->forgone};
}

/* NULL: no rank has failed. */
static const struct rank_report *first_report(const struct verdict_facts *f) {
    const struct failures failures = failures_of(f);
    return first_failure_end(&failures);
}

/* Such ranks take no part in the judgement. */
static bool is_forgone(const struct verdict_facts *f, const struct rank_report *r) {
    const struct failures failures = failures_of(f);
    return first_failure_is_forgone(&failures, r);
}

/* If several were lost at one time, the one that was recorded first. */
static const struct verdict_loss *first_loss(const struct verdict_facts *f) {
    const struct verdict_loss *first = NULL;
    for (size_t i = 0; i < f->loss_count; i++)
        if (first == NULL || f->losses[i].time < first->time)
            first = &f->losses[i];
    return first;
}

/* At the same time as a failure the stop wins: the failure is then taken for its consequence. */
static bool stop_came_first(const struct verdict_facts *f) {
    const struct rank_report *report = first_report(f);
    const struct verdict_loss *loss = first_loss(f);
    if (f->stop_asked == 0)
        return false;
    return (report == NULL || f->stop_asked <= report->time) &&
           (loss == NULL || f->stop_asked <= loss->time) &&
           (f->tool.time == 0 || f->stop_asked <= f->tool.time) &&
           (f->stalled == 0 || f->stop_asked <= f->stalled) &&
           (f->dropped == 0 || f->stop_asked <= f->dropped);
}

/* Returns true if mpirun was killed first. Its ranks end as soon as they notice, and their reports
 * may arrive before mpirun's end does. */
static bool tool_was_killed_first(const struct verdict_facts *f) {
    const struct rank_report *report = first_report(f);
    if (f->tool.signal == 0)
        return false;
    return (report == NULL || f->tool.time <= report->time + FIRST_FAILURE_TIE_NS) &&
           (f->stalled == 0 || f->tool.time <= f->stalled) &&
           (f->dropped == 0 || f->tool.time <= f->dropped);
}

/* --- the outcomes ----------------------------------------------------------------------- */

/* Returns true if every rank reported and ended with 0 before it was asked to end: a program that
 * handles such a request and exits with 0 has not done its work. Of ranks that are forgone nothing
 * is expected, but some rank has to have done the work. */
static bool all_good(const struct verdict_facts *f) {
    bool any = false;
    for (size_t i = 0; i < f->report_count; i++) {
        const struct rank_report *r = &f->reports[i];
        bool good = rank_report_is_good(r) && r->cause == RANK_CAUSE_NONE;
        if (!good && !is_forgone(f, r))
            return false;
        any |= good;
    }
    return any && f->report_count == f->ranks;
}

/* Ranks that were lost are named, though the job has succeeded: they may be missed later. */
static void judge_success(const struct verdict_facts *f, struct verdict *ret) {
    char lost[FIRST_FAILURE_ORDER_SIZE];
    const struct failures failures = failures_of(f);
    const size_t count = first_failure_order(&failures, f->cluster, true, lost);
    if (count > 0)
        fill(ret, EXIT_CODE_OK, -1, -1,
             "%zu of %zu ranks ended with 0; %zu %s lost, and RINGMASTER_LOST_RANKS is %" PRId64
             ": %s",
             f->report_count - count, f->report_count, count, count == 1 ? "was" : "were",
             f->may_lose, lost);
    else if (f->report_count == 1)
        fill(ret, EXIT_CODE_OK, -1, -1, "the only rank ended with 0");
    else
        fill(ret, EXIT_CODE_OK, -1, -1, "all %zu ranks ended with 0", f->report_count);
}

/* Returns true if the rank died of the signal that asked it to end, or that warned it of that. */
static bool died_of_ours(const struct verdict_facts *f, const struct rank_report *r) {
    return r->end == RANK_SIGNALLED &&
           (r->value == SIGTERM || r->value == f->stop_signal || r->value == f->warned);
}

/* Finds a rank that was asked to end and failed instead. NULL if all ranks ended as a stop asks:
 * with 0, with the code of a stop, or by one of the signals. */
static const struct rank_report *worst_stopped(const struct verdict_facts *f) {
    for (size_t i = 0; i < f->report_count; i++) {
        const struct rank_report *r = &f->reports[i];
        bool asked = (r->end == RANK_EXITED && (r->value == 0 || r->value == EXIT_CODE_STOPPED)) ||
                     died_of_ours(f, r);
        if (!asked && !is_forgone(f, r))
            return r;
    }
    return NULL;
}

/* Returns true if we sent the SIGKILL at the end of a stop; as exact as the hosts' clocks. */
static bool is_ours(const struct verdict_facts *f, const struct rank_report *r) {
    bool killed = r->end == RANK_VANISHED || (r->end == RANK_SIGNALLED && r->value == SIGKILL);
    return killed && f->killed != 0 && r->time + FIRST_FAILURE_TIE_NS >= f->killed;
}

/* A rank that failed meanwhile is named in the log tail. It changes nothing: the stop was asked for
 * before it. */
static void judge_stop(const struct verdict_facts *f, struct verdict *ret) {
    if (all_good(f)) {
        judge_success(f, ret);
        return;
    }
    fill(ret, EXIT_CODE_STOPPED, (int)f->stop_host, -1, "stopped on request at %s",
         host_name(f, f->stop_host));
    const struct rank_report *worst = worst_stopped(f);
    if (worst == NULL)
        return;
    char end[RANK_REPORT_END_SIZE] = "killed, as it had not ended when the time to stop was over";
    if (!is_ours(f, worst))
        rank_report_describe(worst, end, sizeof(end));
    snprintf(ret->log_tail, sizeof(ret->log_tail), "%s rank %u: %s", host_name(f, worst->host),
             worst->rank, end);
}

/* Reports of ranks do not matter here, as the loss explains them. */
static void judge_loss(const struct verdict_facts *f, struct verdict *ret) {
    const struct verdict_loss *loss = first_loss(f);
    fill(ret, EXIT_CODE_HOST_LOST, (int)loss->host, -1, "%s: lost: %s%s", host_name(f, loss->host),
         loss->why, f->may_lose > 0 ? "; RINGMASTER_LOST_RANKS lets ranks be lost, not hosts" : "");
    ret->transient = true;
}

/* Somebody has chosen to end the program: another attempt would be against that. */
static bool asks_to_end(int number) {
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

/* Returns true if a rank that ended like this may not do so again. An exit code is the program's
 * own decision, and would be the same again. */
static bool is_transient(const struct verdict_facts *f, const struct rank_report *r) {
    return r->end == RANK_VANISHED ||
           (r->end == RANK_SIGNALLED && r->value != f->warned && !asks_to_end(r->value));
}

/* Returns true for codes that only the launcher may use: a program that exits with one tells
 * nothing about hosts. The class is then "program", and no rule for lost hosts or stalls applies.
 */
static bool is_launchers(int code) {
    return code == EXIT_CODE_NOT_READY || code == EXIT_CODE_HOST_LOST ||
           code == EXIT_CODE_STALLED || code == EXIT_CODE_KEY_REFUSED;
}

/* Added after what is known of the rank itself, which may only be a victim that complains. SUBJECT
 * is put before TEXT. Nothing is added for an empty text. */
static void add_line(struct verdict *v, const char *subject, const char *text) {
    size_t used = strlen(v->evidence);
    if (text == NULL || text[0] == '\0')
        return;
    (void)snprintf(v->evidence + used, sizeof(v->evidence) - used, "%s%s%s", used > 0 ? "\n" : "",
                   subject, text);
}

/* Adds what tells more than the evidence of the rank itself, before that. The old evidence moves
 * down by a line and loses its end if there is no room. */
static void add_before(struct verdict *v, const char *subject, const char *text) {
    char rest[sizeof(v->evidence)];
    if (text == NULL || text[0] == '\0')
        return;
    (void)snprintf(rest, sizeof(rest), "%s", v->evidence);
    int used = snprintf(v->evidence, sizeof(v->evidence), "%s%s", subject, text);
    size_t room = sizeof(v->evidence) - (size_t)used;
    if (rest[0] == '\0' || room < 2)
        return;
    v->evidence[used++] = '\n';
    size_t fit = str_utf8_prefix(rest, strlen(rest), room - 2);
    memcpy(v->evidence + used, rest, fit);
    v->evidence[(size_t)used + fit] = '\0';
}

/* A connection closes, and a rank at its other end complains, shortly before the end of the program
 * that had it. */
static const int64_t shortly = INT64_C(1000000000);

/* Returns when R failed: a program may take long to end after its exception. */
static int64_t time_of_failure(const struct rank_report *r) {
    return r->raised != 0 && r->raised < r->time ? r->raised : r->time;
}

/* Names the first rank that had ended with 0 when R failed, which may be for want of it. */
static void add_early_end(const struct verdict_facts *f, const struct rank_report *r,
                          struct verdict *v) {
    const int64_t failed = time_of_failure(r);
    const int64_t last = failed < r->time - shortly ? failed + shortly : r->time;
    const struct rank_report *first = NULL;
    size_t count = 0;
    char text[160], more[48] = "";
    for (size_t i = 0; i < f->report_count; i++) {
        const struct rank_report *o = &f->reports[i];
        /* LAST is soon after the exception, if there was one; what ended later cannot be its cause.
         */
        if (o->end != RANK_EXITED || o->value != 0 || o->time > last)
            continue;
        count++;
        if (first == NULL || o->time < first->time)
            first = o;
    }
    if (first == NULL)
        return;
    if (count > 1)
        (void)snprintf(more, sizeof(more), ", the first of %zu", count);
    (void)snprintf(text, sizeof(text), "rank %u on %.64s, %.1f s before%s", first->rank,
                   host_name(f, first->host), (double)(r->time - first->time) / 1e9, more);
    add_before(v, "ended with 0: ", text);
}

/* The error in a log line of ringtrain's, "2026-11-21T02:03:04.567Z error unknown flag --x": the
 * text after "error" in the last such line; NULL: none. No other
 * form of a line is known. */
static const char *own_error(const char *lines, size_t *ret_size) {
    static const char mark[] = "Z error ";
    const char *found = NULL;
    for (const char *at = lines; (at = strstr(at, mark)) != NULL; at += strlen(mark))
        found = at + strlen(mark);
    if (found == NULL)
        return NULL;
    found += strspn(found, " ");
    *ret_size = strcspn(found, "\n");
    return *ret_size > 0 ? found : NULL;
}

/* SageMaker shows the first line, so an error class such as "usage" or "data" is followed by its
 * cause. */
static void add_cause(const struct rank_report *r, struct verdict *v) {
    enum { CAUSE_MAX = 240 };
    size_t size = 0;
    size_t used = strlen(v->text);
    /* Codes from EXIT_CODE_USAGE to 125 are those of ringmaster and ringtrain; 126 and 127 are a
     * shell's. */
    bool ours = r->end == RANK_EXITED && r->value >= EXIT_CODE_USAGE && r->value < 126;
    /* The text after "error" in the trainer's last such line. */
    const char *cause = ours ? own_error(r->lines, &size) : NULL;
    if (cause != NULL)
        (void)snprintf(v->text + used, sizeof(v->text) - used, ": %.*s",
                       (int)str_utf8_prefix(cause, size, CAUSE_MAX), cause);
}

/* The code is the rank's own, or 128 and the signal. Evidence is put together from the least
 * telling to the most: each add_before() pushes the rest down. The class of a code that only the
 * launcher may use is the program's. */
static void judge_report(const struct verdict_facts *f, const struct rank_report *r,
                         struct verdict *ret) {
    char end[RANK_REPORT_END_SIZE];
    rank_report_describe(r, end, sizeof(end));
    /* The warning's default effect is the end of a program that does not handle it. */
    bool by_warning = r->end == RANK_SIGNALLED && r->value == f->warned;
    int code = r->end == RANK_EXITED      ? r->value
               : r->end == RANK_SIGNALLED ? 128 + r->value
                                          : CODE_VANISHED;
    code = verdict_program_code(code);
    fill(ret, code, (int)r->host, (int)r->rank, "%s rank %u: %s%s", host_name(f, r->host), r->rank,
         end, by_warning ? ", which warned it of the end and which it does not handle" : "");
    if (r->end != RANK_EXITED || is_launchers(code))
        snprintf(ret->class_name, sizeof(ret->class_name), "%s",
                 r->end != RANK_EXITED ? "signal" : "program");
    ret->transient = is_transient(f, r);
    (void)snprintf(ret->evidence, sizeof(ret->evidence), "%s", r->evidence);
    add_line(ret, "others then: ", f->others);
    add_line(ret, VERDICT_MPIRUN, f->mpi_error_text);
    add_early_end(f, r, ret);
    if (f->lasting_since < time_of_failure(r) - shortly) /* else it failed with the others */
        add_before(ret, "not ended after its exception: ", f->lasting);
    add_before(ret, "stuck: ", f->stuck);
    add_cause(r, ret);
    set_log_tail(ret, r->lines);
}

/* Tells of ranks that were lost before the job ended for any reason. With all its ranks it may not
 * have failed, so a further attempt depends on what they died of, too. */
static void add_forgone(const struct verdict_facts *f, struct verdict *v) {
    char order[FIRST_FAILURE_ORDER_SIZE];
    const struct failures failures = failures_of(f);
    const size_t count = first_failure_order(&failures, f->cluster, false, order);
    const size_t used = strlen(v->text);
    if (v->code == EXIT_CODE_OK || first_failure_count_forgone(&failures) == 0)
        return;
    for (size_t i = 0; i < f->report_count; i++)
        if (is_forgone(f, &f->reports[i]) && v->code != EXIT_CODE_STOPPED)
            v->transient |= is_transient(f, &f->reports[i]);
    if (v->rank >= 0 && (int64_t)count > f->may_lose)
        (void)snprintf(v->text + used, sizeof(v->text) - used,
                       "; %zu ranks failed, and RINGMASTER_LOST_RANKS is %" PRId64, count,
                       f->may_lose);
    add_before(v, "lost: ", order);
}

/* The stalled rank's last lines are shown if it has ended since. */
static void judge_stall(const struct verdict_facts *f, struct verdict *ret) {
    fill(ret, EXIT_CODE_STALLED, (int)f->stalled_host, (int)f->stalled_rank,
         "%s rank %u: no progress within its limit", host_name(f, f->stalled_host),
         f->stalled_rank);
    ret->transient = true;
    if (f->stalled_states != NULL)
        (void)snprintf(ret->evidence, sizeof(ret->evidence), "%s", f->stalled_states);
    add_before(ret, "stuck: ", f->stuck);
    for (size_t i = 0; i < f->report_count; i++)
        if (f->reports[i].rank == f->stalled_rank)
            set_log_tail(ret, f->reports[i].lines);
}

/* A tool that was killed has the signal's code. One that could not start ranks has the launcher's
 * own, 70. */
static void judge_tool(const struct verdict_facts *f, struct verdict *ret) {
    int number = f->tool.signal;
    fill(ret, number > 0 ? verdict_program_code(128 + number) : EXIT_CODE_INTERNAL,
         (int)f->tool.host, -1, "%s", f->tool_words);
    if (number > 0)
        snprintf(ret->class_name, sizeof(ret->class_name), "signal");
    ret->transient = true;
    set_log_tail(ret, f->mpirun_words != NULL ? f->mpirun_words : "");
}

/* All ranks would wait for ever, and a further attempt would meet the same firewall rule. */
static void judge_dropped(const struct verdict_facts *f, struct verdict *ret) {
    char own[NET_ADDRESS_TEXT], source[NET_ADDRESS_TEXT];
    unsigned host = f->rank_host[f->dropped_rank];
    net_address_text(&f->cluster->hosts[host].address, own);
    net_address_text(f->dropped_source, source);
    fill(
        ret, EXIT_CODE_CONFIG, (int)host, -1,
        "%s has the address %s, and its ranks' connections arrive from %s: something between the "
        "hosts translates addresses (a masquerade rule, NAT), and Open MPI drops such connections; "
        "remove that rule for this network, or choose another network (RINGMASTER_INTERFACE)",
        host_name(f, host), own, source);
}

/* 0 means never: what has not happened is before nothing, and everything is before it. */
static bool is_before(int64_t time, int64_t other) {
    return time != 0 && (other == 0 || time <= other);
}

/* Linear, as it is asked only when no reason was found. */
static bool has_report(const struct verdict_facts *f, size_t rank) {
    for (size_t i = 0; i < f->report_count; i++)
        if (f->reports[i].rank == rank)
            return true;
    return false;
}

/* No rank failed and we did not stop the job: somebody ended mpirun, it lost a connection, or it
 * did not start all ranks. */
static void judge_mpirun(const struct verdict_facts *f, const char *mpirun, struct verdict *ret) {
    if (f->direct)
        fill(ret, EXIT_CODE_INTERNAL, -1, -1,
             "the ranks were ended though none had failed: something sent a signal to their shims");
    else if (f->started < f->ranks)
        fill(ret, EXIT_CODE_INTERNAL, -1, -1, "%s before all ranks had started (%zu of %zu)",
             mpirun, f->started, f->ranks);
    else
        fill(ret, EXIT_CODE_INTERNAL, -1, -1,
             "the ranks were ended though none had failed: something sent a signal to them or to "
             "mpirun, or mpirun lost a connection; %s",
             mpirun);
    ret->transient = true;
}

/* What is left: no failure is known, but not all ranks have ended well. A tool's end explains it
 * best, then a note about one, then a missing report, and last mpirun's own end. */
static void judge_unknown(const struct verdict_facts *f, struct verdict *ret) {
    size_t missing = 0;
    while (missing < f->ranks && has_report(f, missing))
        missing++;
    char mpirun[48] = "mpirun had not ended";
    if (f->mpirun_code >= 0)
        snprintf(mpirun, sizeof(mpirun), "mpirun ended with %d", f->mpirun_code);
    bool failed_to_launch = f->started < f->ranks && f->mpirun_code >= 0;
    if (f->tool.time != 0) {
        judge_tool(f, ret);
        return;
    }
    if (f->tool_words != NULL && f->tool_words[0] != '\0') {
        fill(ret, EXIT_CODE_INTERNAL, -1, -1, "%s", f->tool_words);
    } else if (missing < f->ranks && !failed_to_launch) {
        unsigned host = f->rank_host[missing];
        fill(ret, EXIT_CODE_INTERNAL, (int)host, (int)missing,
             "%s rank %zu: it sent no report (%zu of %zu ranks reported)%s%s", host_name(f, host),
             missing, f->report_count, f->ranks, f->direct ? "" : "; ", f->direct ? "" : mpirun);
    } else {
        judge_mpirun(f, mpirun, ret);
    }
    set_log_tail(ret, f->mpirun_words != NULL ? f->mpirun_words : "");
}

static void judge(const struct verdict_facts *facts, struct verdict *ret) {
    const struct failures failures = failures_of(facts);
    const struct rank_report *first = first_report(facts);
    /* A stall with the same time as a report is the later one. */
    bool stall_first = facts->stalled != 0 && (first == NULL || facts->stalled < first->time);
    /* What follows a failure or a stall is no cause of it. */
    bool drop_first = is_before(facts->dropped, first != NULL ? first->time : 0) &&
                      is_before(facts->dropped, facts->stalled);
    if (stop_came_first(facts))
        judge_stop(facts, ret);
    else if (facts->loss_count > 0)
        judge_loss(facts, ret);
    else if (tool_was_killed_first(facts) && !all_good(facts))
        judge_tool(facts, ret);
    else if (drop_first && !all_good(facts))
        judge_dropped(facts, ret);
    else if (stall_first)
        judge_stall(facts, ret);
    else if (first != NULL)
        judge_report(facts, first_failure_cause(&failures), ret);
    else if (all_good(facts))
        judge_success(facts, ret);
    else
        judge_unknown(facts, ret);
}

/* Pure: the same facts give the same verdict, which dispatch.c relies on. */
void verdict_judge(const struct verdict_facts *facts, struct verdict *ret) {
    judge(facts, ret);
    add_forgone(facts, ret);
}

/* An error without a code would be success; it becomes a fault of ringmaster. */
void verdict_from_error(const struct error *error, const struct cluster *cluster, int host,
                        struct verdict *ret) {
    int code = error->code == EXIT_CODE_OK ? EXIT_CODE_INTERNAL : (int)error->code;
    bool known = host >= 0 && (size_t)host < cluster->count;
    fill(ret, code, known ? host : -1, -1, "%s%s%s", known ? cluster->hosts[host].name.text : "",
         known ? ": " : "", error->text);
}
