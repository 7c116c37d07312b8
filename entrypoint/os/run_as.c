#include "entrypoint/os/run_as.h"

#include "common/str.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 64, GROUPS_MAX = 64 };

static struct {
    bool chosen;
    uid_t uid;
    gid_t gid;
    gid_t groups[GROUPS_MAX];
    size_t group_count;
    char name[NAME_SIZE]; /* "": the user has no name */
    char home[PATH_MAX];
} chosen;

static int take_numbers(const char *text, struct error *err) {
    char first[16];
    int64_t uid = 0;
    size_t size = strcspn(text, ":");
    if (size >= sizeof(first))
        return error_set(err, EXIT_CODE_CONFIG,
                         "\"%.64s\" is not a user; expected a name, UID or UID:GID", text);
    memcpy(first, text, size);
    first[size] = '\0';
    if (str_parse_int(first, 0, INT32_MAX, &uid, err) != 0)
        return -1;
    int64_t gid = uid;
    if (text[size] == ':' && str_parse_int(text + size + 1, 0, INT32_MAX, &gid, err) != 0)
        return -1;
    chosen.uid = (uid_t)uid;
    chosen.gid = (gid_t)gid;
    return 0;
}

/* Takes the user's entry in the password database: name, home, and group unless one was given. */
static int take_entry(const struct passwd *entry, bool told_group) {
    int count = GROUPS_MAX;
    chosen.uid = entry->pw_uid;
    if (!told_group)
        chosen.gid = entry->pw_gid;
    (void)snprintf(chosen.name, sizeof(chosen.name), "%s", entry->pw_name);
    (void)snprintf(chosen.home, sizeof(chosen.home), "%s", entry->pw_dir);
    if (!told_group && getgrouplist(entry->pw_name, entry->pw_gid, chosen.groups, &count) >= 0)
        chosen.group_count = (size_t)count;
    return 0;
}

static int find(const char *text, struct error *err) {
    bool is_number = text[0] >= '0' && text[0] <= '9';
    chosen.home[0] = '/';
    if (is_number && take_numbers(text, err) != 0)
        return -1;
    errno = 0;
    const struct passwd *entry = is_number ? getpwuid(chosen.uid) : getpwnam(text);
    if (entry != NULL)
        return take_entry(entry, strchr(text, ':') != NULL);
    if (is_number)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "there is no user \"%.64s\" in this container", text);
}

int run_as_choose(const char *text, struct error *err) {
    memset(&chosen, 0, sizeof(chosen));
    if (text == NULL || text[0] == '\0')
        return 0;
    if (find(text, err) != 0)
        return error_wrap(err, "RINGMASTER_USER");
    if (chosen.uid == geteuid())
        return 0; /* no change of user needed */
    if (geteuid() != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_USER: only root can start programs as \"%.64s\", and this "
                         "container runs as user %u",
                         text, (unsigned)geteuid());
    if (chosen.group_count == 0)
        chosen.groups[chosen.group_count++] = chosen.gid;
    chosen.chosen = true;
    return 0;
}

bool run_as_is_ours(uid_t uid) {
    return uid == geteuid() || (chosen.chosen && uid == chosen.uid);
}

int run_as_give(const char *path, struct error *err) {
    if (!chosen.chosen || lchown(path, chosen.uid, chosen.gid) == 0)
        return 0;
    return error_set_errno(err, EXIT_CODE_CONFIG, "RINGMASTER_USER: giving %s to it", path);
}

int run_as_give_folders(const char *base, const char *const *names, size_t count,
                        struct error *err) {
    for (size_t i = 0; i < count; i++) {
        char path[PATH_MAX];
        struct stat st;
        int size = snprintf(path, sizeof(path), "%s/%s", base, names[i]);
        /* A link was made by the user, and its target's owner is not ours to change. */
        if (size < 0 || (size_t)size >= sizeof(path) || lstat(path, &st) != 0 ||
            !S_ISDIR(st.st_mode))
            continue;
        if (run_as_give(path, err) != 0)
            return -1;
    }
    return 0;
}

int run_as_become(void) {
    if (!chosen.chosen)
        return 0;
    if (setgroups(chosen.group_count, chosen.groups) != 0 ||
        setresgid(chosen.gid, chosen.gid, chosen.gid) != 0 ||
        setresuid(chosen.uid, chosen.uid, chosen.uid) != 0)
        return errno;
    /* A process that can become root again has not dropped its rights. */
    return chosen.uid != 0 && setuid(0) == 0 ? EPERM : 0;
}

int run_as_add(struct argv *environment, struct error *err) {
    if (!chosen.chosen)
        return 0;
    if (argv_set_env(environment, "HOME", chosen.home, err) != 0)
        return -1;
    if (chosen.name[0] == '\0')
        return 0;
    return argv_set_env(environment, "USER", chosen.name, err) == 0
               ? argv_set_env(environment, "LOGNAME", chosen.name, err)
               : -1;
}
