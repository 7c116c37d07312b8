#include "common/file/file.h"
#include "entrypoint/job/key.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 1},
                                      {.name = {"algo-2"}, .slots = 2}};
static struct cluster cluster = {.hosts = hosts, .count = 2, .job = "job-1"};
static char seed[4200], secret[4200], file[4200], base[4200], channel[4400];

static const char one[] = "the first secret of all";
static const char two[] = "the second secret of all";

static void write_file(const char *path, const char *text, mode_t mode) {
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), mode, NULL), 0);
    CU_ASSERT_EQUAL(chmod(path, mode), 0);
}

static struct key_places places(void) {
    snprintf(base, sizeof(base), "%s/ml", unit_temp_dir());
    snprintf(seed, sizeof(seed), "%s/seed", unit_temp_dir());
    snprintf(secret, sizeof(secret), "%s/secret", unit_temp_dir());
    snprintf(file, sizeof(file), "%s/file", unit_temp_dir());
    snprintf(channel, sizeof(channel), "%s/input/data/key", base);
    CU_ASSERT_EQUAL(file_make_dirs(channel, NULL), 0);
    snprintf(channel, sizeof(channel), "%s/input/data/key/ringmaster_key", base);
    return (struct key_places){.docker_secret = secret, .seed = seed};
}

static void the_derivation_is_hkdf_sha384(void) {
    /* Computed with Python: HKDF-SHA384(b"0123456789abcdef", salt b"ringmaster 1", info
     * SHA384(b"job-1\0algo-1\0algo-2\0")). */
    static const char expected[] = "a819a9d05c9e9b3654ceb7c4de3dac0b3983d9783320bdeb"
                                   "a284d5fc002b9cb6fd78b5c2ecf09fbcfd5ac9b8554b7185";
    struct key k;
    char hex[2 * KEY_SIZE + 1];
    CU_ASSERT_EQUAL(key_derive((const unsigned char *)"0123456789abcdef", 16, &cluster, &k, NULL),
                    0);
    for (size_t i = 0; i < KEY_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", k.bytes[i]);
    CU_ASSERT_STRING_EQUAL(hex, expected);
    key_done(&k);
    CU_ASSERT_EQUAL(k.bytes[0] | k.bytes[17] | k.bytes[47], 0);
}

static void another_purpose_has_another_key(void) {
    /* Computed with Python: HKDF-SHA384(bytes(range(48)), salt b"ringmaster 1", info
     * SHA384(b"this")). */
    static const char expected[] = "9a457a88b755495ba67aa741570f02c441b8164595c7edc0"
                                   "af39d1bebc20e3881720e4761e10f22b1ea7f9452379c629";
    struct key k = {0};
    unsigned char made[KEY_SIZE];
    char hex[2 * KEY_SIZE + 1];
    for (size_t i = 0; i < KEY_SIZE; i++)
        k.bytes[i] = (unsigned char)i;
    CU_ASSERT_EQUAL(key_for(&k, "this", made, NULL), 0);
    for (size_t i = 0; i < KEY_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", made[i]);
    CU_ASSERT_STRING_EQUAL(hex, expected);
    CU_ASSERT_EQUAL(key_for(&k, "that", made, NULL), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(made, k.bytes, KEY_SIZE), 0);
}

static void another_job_host_or_secret_gives_another_key(void) {
    struct key k, other;
    const unsigned char *bytes = (const unsigned char *)one;
    CU_ASSERT_EQUAL(key_derive(bytes, sizeof(one), &cluster, &k, NULL), 0);
    struct cluster changed = cluster;
    snprintf(changed.job, sizeof(changed.job), "job-2");
    CU_ASSERT_EQUAL(key_derive(bytes, sizeof(one), &changed, &other, NULL), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(k.bytes, other.bytes, KEY_SIZE), 0);
    changed = cluster;
    changed.count = 1;
    CU_ASSERT_EQUAL(key_derive(bytes, sizeof(one), &changed, &other, NULL), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(k.bytes, other.bytes, KEY_SIZE), 0);
    changed = cluster;
    changed.before = 1;
    CU_ASSERT_EQUAL(key_derive(bytes, sizeof(one), &changed, &other, NULL), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(k.bytes, other.bytes, KEY_SIZE), 0);
    struct key third;
    changed.before = 2;
    CU_ASSERT_EQUAL(key_derive(bytes, sizeof(one), &changed, &third, NULL), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(other.bytes, third.bytes, KEY_SIZE), 0);
    changed = cluster;
    changed.self = 1;
    CU_ASSERT_EQUAL(key_derive(bytes, sizeof(one), &changed, &other, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(k.bytes, other.bytes, KEY_SIZE), 0);
    CU_ASSERT_EQUAL(key_derive((const unsigned char *)two, sizeof(two), &cluster, &other, NULL), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(k.bytes, other.bytes, KEY_SIZE), 0);
}

static void a_thousand_hosts_have_a_key_too(void) {
    static struct cluster_host many[CLUSTER_HOSTS_MAX];
    for (size_t i = 0; i < CLUSTER_HOSTS_MAX; i++)
        snprintf(many[i].name.text, HOST_NAME_SIZE, "algo-%zu.a-rather-long-domain.example.com", i);
    struct cluster large = {.hosts = many, .count = CLUSTER_HOSTS_MAX, .job = "j"};
    struct key k;
    CU_ASSERT_EQUAL(key_derive((const unsigned char *)one, sizeof(one), &large, &k, NULL), 0);
}

static void places_are_tried_in_their_order(void) {
    struct key_places p = places();
    struct settings s = {.base_dir = base, .key = one, .key_file = file};
    struct key k, from_seed;
    write_file(seed, two, 0644);
    write_file(secret, one, 0444);
    write_file(channel, one, 0644);
    write_file(file, one, 0600);
    const char *const expected[] = {file, secret, channel, "RINGMASTER_KEY", seed};
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, NULL), 0);
        CU_ASSERT_STRING_EQUAL(k.place, expected[i]);
        CU_ASSERT_EQUAL(k.source, i < 3    ? KEY_FROM_FILE
                                  : i == 3 ? KEY_FROM_VARIABLE
                                           : KEY_FROM_SEED);
        if (i == 1 || i == 2)
            CU_ASSERT_EQUAL(remove(expected[i]), 0);
        if (i == 0)
            s.key_file = NULL;
        if (i == 3)
            s.key = NULL;
    }
    from_seed = k;
    s.key = two;
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(k.bytes, from_seed.bytes, KEY_SIZE), 0);
    s.key = NULL;
    s.require_key = true;
    struct error err = {0};
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_KEY_REFUSED);
    ASSERT_CONTAINS(err.text, "RINGMASTER_REQUIRE_KEY");
    s.require_key = false;
    CU_ASSERT_EQUAL(remove(seed), 0);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_KEY");
}

static void white_space_at_the_end_does_not_count(void) {
    struct key_places p = places();
    struct settings s = {.base_dir = base, .key_file = file};
    struct key plain, padded;
    write_file(file, one, 0600);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &plain, NULL), 0);
    write_file(file, "the first secret of all \r\n", 0600);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &padded, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(plain.bytes, padded.bytes, KEY_SIZE), 0);
}

static void unfit_files_are_refused_and_their_text_not_shown(void) {
    struct key_places p = places();
    struct settings s = {.base_dir = base, .key_file = file};
    struct key k;
    struct error err = {0};
    write_file(file, "short", 0600);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    ASSERT_CONTAINS(err.text, "5 bytes");
    CU_ASSERT_PTR_NULL(strstr(err.text, "short"));
    write_file(file, "fifteen bytes..", 0600);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    ASSERT_CONTAINS(err.text, "15 bytes, not 16 to 4096");
    write_file(file, "sixteen bytes...", 0600);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, NULL), 0);
    write_file(file, one, 0646);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    ASSERT_CONTAINS(err.text, "everybody");
    CU_ASSERT_EQUAL(remove(file), 0);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    ASSERT_CONTAINS(err.text, file);
    CU_ASSERT_EQUAL(mkdir(file, 0700), 0);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    CU_ASSERT_EQUAL(remove(file), 0);
    char large[KEY_SECRET_MAX + 66];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    write_file(file, large, 0600);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    large[KEY_SECRET_MAX] = '\0';
    write_file(file, large, 0600);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, NULL), 0);
}

/* Any user who can write the file, or replace it, knows the job's key. */
static void modes_of_the_file_and_its_folders_are_looked_at(void) {
    enum { OWN = 0, OTHER = 12345 };
    char folder[4200], inside[4300], link_path[4300];
    struct key_places p = places();
    struct key k;
    struct error err = {0};
    snprintf(folder, sizeof(folder), "%s/folder", unit_temp_dir());
    snprintf(inside, sizeof(inside), "%s/key", folder);
    snprintf(link_path, sizeof(link_path), "%s/link", unit_temp_dir());
    CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
    CU_ASSERT_EQUAL(symlink(inside, link_path), 0);
    if (geteuid() != 0) {
        unit_skip("groups of others need root");
        return;
    }
    static const struct {
        mode_t file, folder;
        gid_t file_group, folder_group;
        const char *error; /* NULL: fine */
    } cases[] = {
        {0600, 0700, OWN, OWN, NULL},
        {0444, 0755, OTHER, OTHER, NULL}, /* read by all: a docker secret is */
        {0660, 0770, OWN, OWN, NULL},
        {0660, 0700, OTHER, OWN, "writable by a group"},
        {0602, 0700, OWN, OWN, "writable by everybody"},
        {0600, 0770, OWN, OTHER, "is writable by others"},
        {0600, 0777, OWN, OWN, "is writable by others"},
        {0600, 01777, OWN, OTHER, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(inside, one, cases[i].file);
        CU_ASSERT_EQUAL(chown(inside, 0, cases[i].file_group), 0);
        CU_ASSERT_EQUAL(chown(folder, 0, cases[i].folder_group), 0);
        CU_ASSERT_EQUAL(chmod(folder, cases[i].folder), 0);
        const char *const paths[] = {inside, link_path};
        for (size_t j = 0; j < 2; j++) {
            struct settings s = {.base_dir = base, .key_file = paths[j]};
            int made = key_make(&s, &cluster, &p, &k, &err);
            CU_ASSERT_EQUAL(made, cases[i].error == NULL ? 0 : -1);
            if (made == 0)
                continue;
            CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
            ASSERT_CONTAINS(err.text, cases[i].error != NULL ? cases[i].error : "no error");
            ASSERT_CONTAINS(err.text, paths[j]);
        }
    }
    CU_ASSERT_EQUAL(chmod(folder, 0700), 0);
}

static int fails_to_make(const struct settings *s, const char *text) {
    struct key_places p = places();
    struct key k;
    struct error err = {0};
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
        return 1;
    if (key_make(s, &cluster, &p, &k, &err) == 0)
        return 2;
    return strstr(err.text, text) != NULL ? 0 : 3;
}

/* For a user who is neither root nor any file's owner it fails with TEXT. */
static void assert_nobody_fails(const struct settings *s, const char *text) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(fails_to_make(s, text));
    (void)waitpid(pid, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

static void a_file_of_another_user_is_refused_to_all_but_root(void) {
    struct key_places p = places();
    struct settings s = {.base_dir = base, .key_file = file};
    struct key k;
    if (geteuid() != 0) {
        unit_skip("other users need root");
        return;
    }
    CU_ASSERT_EQUAL(chmod(unit_temp_dir(), 0755), 0);
    write_file(file, one, 0644);
    CU_ASSERT_EQUAL(chown(file, 4242, 0), 0);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, NULL), 0);
    assert_nobody_fails(&s, "belongs to user 4242; it must belong to root or to this user, 65534");
}

/* As a container's user who is not root meets it. */
static void a_seed_that_cannot_be_read_is_no_key(void) {
    struct settings s = {.base_dir = base};
    if (geteuid() != 0) {
        unit_skip("other users need root");
        return;
    }
    CU_ASSERT_EQUAL(chmod(unit_temp_dir(), 0755), 0);
    write_file(seed, one, 0600);
    assert_nobody_fails(&s,
                        "is not for user 65534 to read: give all hosts the same RINGMASTER_KEY");
    CU_ASSERT_EQUAL(remove(seed), 0);
}

static int fingerprint_fails(void) {
    struct key_places p = {.seed = seed};
    char text[KEY_FINGERPRINT_SIZE];
    struct error err;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    return key_fingerprint(&p, text, &err) == -1 && text[0] == '\0' ? 0 : 2;
}

/* The next place to be searched may hold a secret that everybody knows. */
static void a_secret_that_cannot_be_looked_at_is_not_missing(void) {
    struct settings s = {.base_dir = base};
    struct key_places p = places();
    struct key k;
    struct error err = {0};
    char text[KEY_FINGERPRINT_SIZE];
    const char *const paths[] = {secret, channel, seed};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        CU_ASSERT_EQUAL_FATAL(symlink(paths[i], paths[i]), 0); /* leads to itself */
        CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
        CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == ELOOP);
        ASSERT_CONTAINS(err.text, paths[i]);
        CU_ASSERT_EQUAL(key_fingerprint(&p, text, &err), paths[i] == seed ? -1 : 0);
        CU_ASSERT_EQUAL_FATAL(unlink(paths[i]), 0);
    }
}

static void a_seed_has_a_fingerprint(void) {
    /* Computed with Python: the key as above of a job without a name and hosts, the first 8 bytes
     * of its key for "fingerprint". */
    static const char expected[] = "98c6ea4eaa6e37da";
    struct key_places p = places();
    char text[KEY_FINGERPRINT_SIZE];
    struct error err;
    CU_ASSERT_EQUAL(key_fingerprint(&p, text, &err), 0);
    CU_ASSERT_STRING_EQUAL(text, "");
    write_file(seed, "the first secret of all\n", 0600);
    CU_ASSERT_EQUAL(key_fingerprint(&p, text, &err), 1);
    CU_ASSERT_STRING_EQUAL(text, expected);
    CU_ASSERT(geteuid() != 0 || unit_in_child(fingerprint_fails) == 0);
    write_file(seed, two, 0600);
    CU_ASSERT_EQUAL(key_fingerprint(&p, text, &err), 1);
    CU_ASSERT_STRING_NOT_EQUAL(text, expected);
    write_file(seed, "short", 0600);
    CU_ASSERT_EQUAL(key_fingerprint(&p, text, &err), -1);
    CU_ASSERT_EQUAL(remove(seed), 0);
}

static void a_pipe_is_not_waited_for(void) {
    struct key_places p = places();
    struct settings s = {.base_dir = base, .key_file = file};
    struct key k;
    struct error err = {0};
    (void)remove(file);
    CU_ASSERT_EQUAL(mkfifo(file, 0600), 0);
    CU_ASSERT_EQUAL(key_make(&s, &cluster, &p, &k, &err), -1);
    ASSERT_CONTAINS(err.text, "is not a file");
    CU_ASSERT_EQUAL(remove(file), 0);
}

static void the_variable_can_be_blotted_out(void) {
    char key[] = "RINGMASTER_KEY=abcdef", other[] = "RINGMASTER_KEY_FILE=/x";
    char *environment[] = {other, key, NULL};
    key_hide(environment);
    for (size_t i = strlen("RINGMASTER_KEY="); i < sizeof(key); i++)
        CU_ASSERT_EQUAL(key[i], '\0');
    CU_ASSERT_STRING_EQUAL(other, "RINGMASTER_KEY_FILE=/x");
}

UNIT_SUITE("job.key", UNIT(the_derivation_is_hkdf_sha384), UNIT(another_purpose_has_another_key),
           UNIT(another_job_host_or_secret_gives_another_key),
           UNIT(a_thousand_hosts_have_a_key_too), UNIT(places_are_tried_in_their_order),
           UNIT(white_space_at_the_end_does_not_count),
           UNIT(unfit_files_are_refused_and_their_text_not_shown),
           UNIT(modes_of_the_file_and_its_folders_are_looked_at),
           UNIT(a_file_of_another_user_is_refused_to_all_but_root),
           UNIT(a_seed_that_cannot_be_read_is_no_key), UNIT(a_seed_has_a_fingerprint),
           UNIT(a_secret_that_cannot_be_looked_at_is_not_missing), UNIT(a_pipe_is_not_waited_for),
           UNIT(the_variable_can_be_blotted_out))
