#include "entrypoint/open_files.h"

#include "entrypoint/door.h"
#include "support/unit.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct cluster_host hosts[400];
static struct cluster cluster = {.hosts = hosts, .count = 400};

static void set_limit(rlim_t soft, rlim_t hard) {
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static rlim_t soft_limit(void) {
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

static void the_master_needs_more_with_every_host(void) {
    hosts[0].slots = 8;
    hosts[1].slots = 8;
    uint64_t many = open_files_needed(&cluster);
    CU_ASSERT(many > 2 * 400 + 3 * 8);
    cluster.self = 1;
    CU_ASSERT(open_files_needed(&cluster) < many - 700);
    CU_ASSERT(open_files_needed(&cluster) > 3 * 8);
    cluster.self = 0;
}

static int raise_and_restore(void) {
    struct error err = {0};
    set_limit(256, 4096);
    if (open_files_raise(100, &err) != 0 || open_files_before() != 0 || soft_limit() != 256)
        return 1;
    if (open_files_raise(1000, &err) != 0 || open_files_before() != 256 || soft_limit() <= 1000)
        return 2;
    rlim_t raised = soft_limit();
    open_files_restore(0);
    if (soft_limit() != raised)
        return 3;
    open_files_restore(open_files_before());
    return soft_limit() == 256 ? 0 : 4;
}

static void the_soft_limit_is_raised_and_given_back(void) {
    CU_ASSERT_EQUAL(unit_in_child(raise_and_restore), 0);
}

/* However few there are, what the job itself needs is left over. */
static int guests_leave_the_rest(void) {
    struct error err = {0};
    set_limit(256, 256);
    if (open_files_raise(150, &err) != 0 || soft_limit() != 256)
        return 1;
    uint64_t guests = open_files_guests(150);
    if (guests < DOOR_GUESTS_LEAST || 2 * (guests - DOOR_GUESTS_LEAST) > 256 - 150)
        return 2;
    set_limit(150, 256);
    if (open_files_guests(150) != DOOR_GUESTS_LEAST || open_files_guests(200) != DOOR_GUESTS_LEAST)
        return 3;
    set_limit(151, 200);
    if (open_files_raise(150, &err) != 0 || soft_limit() != 200) /* as far as it goes */
        return 4;
    return 0;
}

static void guests_get_a_share_of_what_the_job_does_not_need(void) {
    CU_ASSERT_EQUAL(unit_in_child(guests_leave_the_rest), 0);
}

static int raise_too_far(void) {
    struct error err = {0};
    set_limit(256, 512);
    if (open_files_raise(1000, &err) == 0 || err.code != EXIT_CODE_CONFIG)
        return 1;
    bool told = strstr(err.text, "1000 open files") != NULL && strstr(err.text, "512") != NULL;
    return told && soft_limit() == 256 && open_files_before() == 0 ? 0 : 2;
}

static void a_hard_limit_below_is_an_error_with_both_numbers(void) {
    CU_ASSERT_EQUAL(unit_in_child(raise_too_far), 0);
}

UNIT_MAIN("entrypoint.open_files", UNIT(the_master_needs_more_with_every_host),
          UNIT(the_soft_limit_is_raised_and_given_back),
          UNIT(guests_get_a_share_of_what_the_job_does_not_need),
          UNIT(a_hard_limit_below_is_an_error_with_both_numbers))
