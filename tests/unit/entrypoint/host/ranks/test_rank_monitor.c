#include "entrypoint/host/ranks/rank_monitor.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/host/monitor/cpu_time.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A host with one rank, on a held clock: what its monitor tells the master, and when. What follows
 * for a whole job is tested in tests/system (test_job.sh, faults.sh). */
static struct job job;
static struct loop loop;
static struct rank_slot slot;
static struct rank_slot *slots = &slot;
static struct rank_monitor monitor;
static int memory; /* the rank's shared memory for progress */
static struct progress program;
static int64_t begun;

/* The rank's processor time, used instead of the real one if cpu_is_told. */
static int64_t cpu;
static bool cpu_is_told;
int64_t __real_cpu_time_below(pid_t parent);
int64_t __wrap_cpu_time_below(pid_t parent);
int64_t __wrap_cpu_time_below(pid_t parent) {
    return cpu_is_told ? cpu : __real_cpu_time_below(parent);
}

static json_t *told; /* the last message */
static unsigned tellings;
static int64_t told_at; /* ns after begun */

static void tell(void *context, json_t *message) {
    (void)context;
    json_decref(told);
    told = message;
    told_at = clock_now() - begun;
    tellings++;
}

static const struct services services = {.loop = &loop, .job = &job};
static const struct rank_sinks sinks = {.send = tell};

static void begin(size_t hosts, int64_t stall, int64_t idle) {
    held_clock_begin();
    begun = clock_now();
    job = (struct job){.settings = {.stall_seconds = stall, .idle_seconds = idle},
                       .cluster = {.count = hosts}};
    slot = (struct rank_slot){.rank = 3, .shim = getpid()};
    cpu = 0;
    cpu_is_told = true;
    tellings = 0;
    memory = progress_create(NULL);
    CU_ASSERT_EQUAL_FATAL(progress_adopt(&slot.progress, memory, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    rank_monitor_init(&monitor, &services, &sinks, &slots);
    rank_monitor_add(&monitor, &slot, memory);
    rank_monitor_begin(&monitor);
}

static void end(void) {
    rank_monitor_remove(&monitor, &slot);
    rank_monitor_close(&monitor);
    loop_done(&loop);
    progress_done(&slot.progress);
    progress_done(&program);
    (void)close(memory);
    json_decref(told);
    told = NULL;
    cpu_is_told = false;
    held_clock_end();
}

static void end_loop(void *context) {
    loop_end(context);
}

/* Runs the loop until NANOSECONDS after the beginning. */
static void run_until(int64_t nanoseconds) {
    struct timer last = {.fire = end_loop, .context = &loop};
    loop_at(&loop, &last, begun + nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
}

static bool is_told(const char *type, int64_t seconds) {
    return tellings > 0 && strcmp(frame_type(told), type) == 0 &&
           json_integer_value(json_object_get(told, "rank")) == 3 &&
           told_at == seconds * CLOCK_SECOND;
}

static int64_t told_seconds(void) {
    return json_integer_value(json_object_get(told, "seconds"));
}

/* Opens the memory as the rank's program does. */
static void open_memory(void) {
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
    CU_ASSERT_EQUAL_FATAL(progress_open(&program, path, NULL), 0);
}

/* Once the program has opened the memory, a single host checks every 4 s: one check sees the mark,
 * and the next one sees that no other has followed. */
static void a_rank_that_falls_silent_is_stalled(void) {
    begin(1, 600, 0);
    run_until(10 * CLOCK_SECOND);
    open_memory();
    progress_mark(&program, 1, 4);
    run_until(30 * CLOCK_SECOND);
    CU_ASSERT(is_told("stalled", 18));
    CU_ASSERT_EQUAL(told_seconds(), 4);
    run_until(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(tellings, 1);
    end();
}

static void a_second_more_of_patience_is_a_look_more(void) {
    begin(1, 600, 0);
    open_memory();
    progress_mark(&program, 1, 5);
    run_until(30 * CLOCK_SECOND);
    CU_ASSERT(is_told("stalled", 12));
    end();
}

/* Until the first mark, checks become less frequent, but a mark is seen no later than this. */
static void a_rank_that_marks_late_is_seen_all_the_same(void) {
    begin(1, 600, 0);
    open_memory();
    run_until(10 * CLOCK_SECOND); /* checks at 4 and 12 s, then at 28 s without a mark */
    progress_mark(&program, 1, 4);
    run_until(60 * CLOCK_SECOND);
    CU_ASSERT(is_told("stalled", 16));
    end();
}

/* With several hosts, the loop wakes for heartbeats anyway. A check sees each mark 3 s later. */
static void a_host_among_others_looks_every_four_seconds(void) {
    begin(2, 600, 0);
    open_memory();
    for (int64_t step = 0; step < 100; step++) {
        run_until((1 + step * 8) * CLOCK_SECOND);
        progress_mark(&program, (uint64_t)step, 8);
    }
    run_until(1000 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(tellings, 1);
    CU_ASSERT(is_told("stalled", 804));
    end();
}

static void a_rank_that_never_showed_progress_is_not_stalled(void) {
    begin(1, 80, 0);
    cpu = 10 * CLOCK_SECOND - 1; /* too little to count as work */
    run_until(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(tellings, 0);
    end();
}

/* Its processor time is first read after 10 of the 80 s of silence. */
static void a_rank_that_has_worked_and_rests_is_quiet(void) {
    pid_t child = fork();
    if (child == 0) {
        (void)raise(SIGSTOP);
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(child, NULL, WUNTRACED), child);
    begin(1, 80, 0);
    cpu = 10 * CLOCK_SECOND;
    run_until(100 * CLOCK_SECOND);
    CU_ASSERT(is_told("quiet", 80));
    CU_ASSERT_EQUAL(told_seconds(), 80);
    ASSERT_CONTAINS(json_string_value(json_object_get(told, "states")), ": 1 T");
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    run_until(1000 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(tellings, 1); /* it may stay quiet */
    end();
}

/* A rank is busy if it uses a fiftieth of a processor between checks, which are 80 s apart. */
static void a_quiet_rank_that_works_again_is_busy(void) {
    for (int64_t less = 0; less < 2; less++) {
        begin(1, 80, 0);
        cpu = 10 * CLOCK_SECOND;
        run_until(100 * CLOCK_SECOND);
        cpu += 80 * CLOCK_SECOND / 50 - less;
        run_until(200 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(is_told("busy", 160), less == 0);
        end();
    }
}

static void a_quiet_rank_that_prints_or_marks_is_busy(void) {
    begin(1, 80, 0);
    cpu = 10 * CLOCK_SECOND;
    run_until(100 * CLOCK_SECOND);
    slot.error_out.bytes++;
    run_until(165 * CLOCK_SECOND);
    CU_ASSERT(is_told("busy", 160));
    end();
    begin(1, 80, 0);
    cpu = 10 * CLOCK_SECOND;
    run_until(100 * CLOCK_SECOND);
    open_memory();
    progress_mark(&program, 1, 0);
    run_until(110 * CLOCK_SECOND);
    CU_ASSERT(is_told("busy", 104));
    end();
}

/* The user set the limit, so the rank need not have worked before. Checks are at 4, 12, 22 s and so
 * on; the second one is the first to read the rank's processor time. */
static void a_rank_that_never_worked_is_quiet_where_that_is_asked_for(void) {
    begin(1, 0, 80);
    run_until(90 * CLOCK_SECOND);
    CU_ASSERT(is_told("quiet", 82));
    CU_ASSERT_EQUAL(told_seconds(), 80);
    end();
}

/* A busy machine may delay a check by four seconds; after a longer delay, this container was
 * paused. */
static void time_in_which_this_process_stood_still_does_not_count(void) {
    for (int64_t more = 0; more < 2; more++) {
        begin(1, 80, 0);
        cpu = 10 * CLOCK_SECOND;
        run_until(20 * CLOCK_SECOND);
        held_clock_pass(64 * CLOCK_SECOND + more);
        run_until(86 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(tellings, more == 0);
        run_until(160 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(tellings, more == 0);
        run_until(170 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(tellings, 1);
        CU_ASSERT_EQUAL(told_at / CLOCK_SECOND, 84 + more * 80);
        end();
    }
}

static void a_rank_that_has_reported_is_left_alone(void) {
    begin(1, 80, 80);
    cpu = 10 * CLOCK_SECOND;
    open_memory();
    progress_mark(&program, 1, 4);
    slot.reported = true;
    run_until(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(tellings, 0);
    end();
}

static void nothing_is_looked_at_where_nobody_asks(void) {
    begin(2, 0, 0);
    CU_ASSERT_FALSE(monitor.look.active);
    end();
}

UNIT_SUITE("host.rank_monitor", UNIT(a_rank_that_falls_silent_is_stalled),
           UNIT(a_second_more_of_patience_is_a_look_more),
           UNIT(a_rank_that_marks_late_is_seen_all_the_same),
           UNIT(a_host_among_others_looks_every_four_seconds),
           UNIT(a_rank_that_never_showed_progress_is_not_stalled),
           UNIT(a_rank_that_has_worked_and_rests_is_quiet),
           UNIT(a_quiet_rank_that_works_again_is_busy),
           UNIT(a_quiet_rank_that_prints_or_marks_is_busy),
           UNIT(a_rank_that_never_worked_is_quiet_where_that_is_asked_for),
           UNIT(time_in_which_this_process_stood_still_does_not_count),
           UNIT(a_rank_that_has_reported_is_left_alone),
           UNIT(nothing_is_looked_at_where_nobody_asks))
