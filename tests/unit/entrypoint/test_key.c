#include "common/file.h"
#include "entrypoint/key.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static void the_variable_can_be_blotted_out(void) {
    char key[] = "RINGMASTER_KEY=abcdef", other[] = "RINGMASTER_KEY_FILE=/x";
    char *environment[] = {other, key, NULL};
    key_hide(environment);
    for (size_t i = strlen("RINGMASTER_KEY="); i < sizeof(key); i++)
        CU_ASSERT_EQUAL(key[i], '\0');
    CU_ASSERT_STRING_EQUAL(other, "RINGMASTER_KEY_FILE=/x");
}

UNIT_MAIN("entrypoint.key", UNIT(the_derivation_is_hkdf_sha384),
          UNIT(another_job_host_or_secret_gives_another_key), UNIT(a_thousand_hosts_have_a_key_too),
          UNIT(places_are_tried_in_their_order), UNIT(white_space_at_the_end_does_not_count),
          UNIT(unfit_files_are_refused_and_their_text_not_shown),
          UNIT(the_variable_can_be_blotted_out))
