#include "entrypoint/os/fd_limits.h"

#include "tests/support/unit.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void set_limit(rlim_t soft, rlim_t hard) {
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static rlim_t soft_limit(void) {
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

static int raise_and_restore(void) {
    struct error err = {0};
    set_limit(256, 4096);
    if (fd_limits_raise(100, 128, &err) != 0 || fd_limits_before() != 0 || soft_limit() != 256)
        return 1;
    if (fd_limits_raise(1000, 128, &err) != 0 || fd_limits_before() != 256 || soft_limit() != 1128)
        return 2;
    rlim_t raised = soft_limit();
    fd_limits_restore(0);
    if (soft_limit() != raised)
        return 3;
    fd_limits_restore(fd_limits_before());
    return soft_limit() == 256 ? 0 : 4;
}

static void the_soft_limit_is_raised_and_given_back(void) {
    CU_ASSERT_EQUAL(unit_in_child(raise_and_restore), 0);
}

static int spare_is_what_is_left(void) {
    struct error err = {0};
    set_limit(256, 256);
    if (fd_limits_raise(150, 128, &err) != 0 || soft_limit() != 256)
        return 1;
    if (fd_limits_spare(150) != 106 || fd_limits_spare(256) != 0 || fd_limits_spare(300) != 0)
        return 2;
    set_limit(151, 200);
    if (fd_limits_raise(150, 128, &err) != 0 || soft_limit() != 200) /* as far as it goes */
        return 3;
    return 0;
}

static void what_is_not_needed_is_spare(void) {
    CU_ASSERT_EQUAL(unit_in_child(spare_is_what_is_left), 0);
}

static int raise_too_far(void) {
    struct error err = {0};
    set_limit(256, 512);
    if (fd_limits_raise(1000, 128, &err) == 0 || err.code != EXIT_CODE_CONFIG)
        return 1;
    bool told = strstr(err.text, "1000 open files") != NULL && strstr(err.text, "512") != NULL;
    return told && soft_limit() == 256 && fd_limits_before() == 0 ? 0 : 2;
}

static void a_hard_limit_below_is_an_error_with_both_numbers(void) {
    CU_ASSERT_EQUAL(unit_in_child(raise_too_far), 0);
}

UNIT_SUITE("os.fd_limits", UNIT(the_soft_limit_is_raised_and_given_back),
           UNIT(what_is_not_needed_is_spare),
           UNIT(a_hard_limit_below_is_an_error_with_both_numbers))
