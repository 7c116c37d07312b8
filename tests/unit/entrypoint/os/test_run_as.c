#include "common/file/file.h"
#include "entrypoint/os/run_as.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void nobody_is_chosen_unless_told(void) {
    cleanup_argv struct argv environment = {0};
    CU_ASSERT_EQUAL(run_as_choose(NULL, NULL), 0);
    CU_ASSERT_EQUAL(run_as_choose("", NULL), 0);
    CU_ASSERT(run_as_is_ours(geteuid()));
    CU_ASSERT_FALSE(run_as_is_ours(geteuid() + 1));
    CU_ASSERT_EQUAL(run_as_become(), 0);
    CU_ASSERT_EQUAL(run_as_add(&environment, NULL), 0);
    CU_ASSERT_EQUAL(environment.count, 0);
    CU_ASSERT_EQUAL(run_as_give("/no/such/file", NULL), 0);
}

static void who_is_none_is_refused(void) {
    static const char *const bad[] = {
        "no-such-user", "12x", "12:",   "12:x", "99999999999",
        ":5",           "-1",  "1:2:3", "0x10", "12345678901234567890:1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(run_as_choose(bad[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "RINGMASTER_USER");
    }
    CU_ASSERT_EQUAL(run_as_choose(NULL, NULL), 0);
    struct error err = {0};
    CU_ASSERT_EQUAL(run_as_choose("12345678901234567890:1", &err), -1);
    ASSERT_CONTAINS(err.text, " is not a user; expected a name, UID or UID:GID");
}

static int be_another(void) {
    struct stat st;
    char path[600];
    cleanup_argv struct argv environment = {0};
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/given", unit_temp_dir());
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    (void)close(fd);
    if (run_as_choose("4321:1234", &err) != 0 || !run_as_is_ours(4321) || !run_as_is_ours(0) ||
        run_as_is_ours(4322))
        return 1;
    if (run_as_give(path, &err) != 0 || stat(path, &st) != 0 || st.st_uid != 4321 ||
        st.st_gid != 1234)
        return 2;
    if (run_as_add(&environment, &err) != 0 || strcmp(environment.items[0], "HOME=/") != 0 ||
        environment.count != 1)
        return 3;
    if (run_as_become() != 0 || geteuid() != 4321 || getegid() != 1234 || getgroups(0, NULL) != 1)
        return 4;
    return setuid(0) != 0 && setgid(0) != 0 ? 0 : 5;
}

static int be_a_named_one(void) {
    cleanup_argv struct argv environment = {0};
    struct error err = {0};
    if (run_as_choose("nobody", &err) != 0 || run_as_add(&environment, &err) != 0)
        return 1;
    const char *user = argv_get_env(&environment, "USER");
    const char *login = argv_get_env(&environment, "LOGNAME");
    if (user == NULL || login == NULL || strcmp(user, "nobody") != 0 || strcmp(login, user) != 0 ||
        argv_get_env(&environment, "HOME") == NULL)
        return 2;
    return run_as_become() == 0 && geteuid() != 0 ? 0 : 3;
}

/* A user who is not root can be chosen only by itself. */
static int not_be_root(void) {
    struct error err = {0};
    if (setuid(4321) != 0 || run_as_choose("4321", &err) != 0 || run_as_become() != 0)
        return 1;
    if (run_as_choose("0", &err) != -1 || strstr(err.text, "only root") == NULL)
        return 2;
    return 0;
}

static void root_becomes_another_for_good(void) {
    if (geteuid() != 0) {
        unit_skip("only root can become another user");
        return;
    }
    CU_ASSERT_EQUAL(unit_in_child(be_another), 0);
    CU_ASSERT_EQUAL(unit_in_child(be_a_named_one), 0);
    CU_ASSERT_EQUAL(unit_in_child(not_be_root), 0);
}

static const char *at(const char *name) {
    static char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static unsigned owner(const char *name) {
    struct stat st;
    return lstat(at(name), &st) == 0 ? (unsigned)st.st_uid : 99999;
}

static void folders_are_given_and_what_lies_in_them_is_not(void) {
    if (geteuid() != 0) {
        unit_skip("only root can give a folder away");
        return;
    }
    static const char *const names[] = {"model", "checkpoints", "output", "output/data"};
    char target[600];
    CU_ASSERT_EQUAL(file_make_dirs(at("output/data"), NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(at("model"), NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(at("elsewhere"), NULL), 0);
    CU_ASSERT_EQUAL(file_put(at("model/old"), "x", 1, 0600, NULL), 0);
    (void)snprintf(target, sizeof(target), "%s", at("elsewhere"));
    CU_ASSERT_EQUAL(symlink(target, at("checkpoints")), 0);
    CU_ASSERT_EQUAL(run_as_choose("4321", NULL), 0);
    CU_ASSERT_EQUAL(run_as_give_folders(unit_temp_dir(), names, 4, NULL), 0);
    CU_ASSERT_EQUAL(owner("model"), 4321);
    CU_ASSERT_EQUAL(owner("output"), 4321);
    CU_ASSERT_EQUAL(owner("output/data"), 4321);
    CU_ASSERT_EQUAL(owner("model/old"), 0);
    CU_ASSERT_EQUAL(owner("checkpoints"), 0);
    CU_ASSERT_EQUAL(owner("elsewhere"), 0);
    CU_ASSERT_EQUAL(run_as_choose(NULL, NULL), 0);
    CU_ASSERT_EQUAL(run_as_give_folders("/no/such/base", names, 4, NULL), 0);
}

UNIT_SUITE("os.run_as", UNIT(nobody_is_chosen_unless_told), UNIT(who_is_none_is_refused),
           UNIT(root_becomes_another_for_good),
           UNIT(folders_are_given_and_what_lies_in_them_is_not))
