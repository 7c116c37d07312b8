#include "entrypoint/job/key.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file_look.h"

#include <fcntl.h>
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A secret becomes a key in two steps: its bytes are taken from the first place that has any
 * (key_make), and are mixed with what identifies the job (key_derive). The key itself is never
 * sent. Every buffer that has held a secret is overwritten before it is freed, and files are read
 * without stdio, which would keep a copy of its own.
 *
 * A file is trusted only if nobody else can have written it: the key is all that it takes to run
 * programs in the job. A place that exists but fails this check is an error, and never a reason to
 * try the next place. */

#define DOCKER_SECRET "/run/secrets/ringmaster_key"
#define SEED "/etc/ringmaster/seed"

/* In bytes. HKDF and both digests use SHA-384. */
enum {
    DIGEST_SIZE = 48,               /* SHA-384 */
    READ_MAX = KEY_SECRET_MAX + 64, /* size of a secret's file with blanks at its end */
};

/* OPENSSL_cleanse() is not optimized away, as memset() before the end of a life may be. */
void key_done(struct key *k) {
    OPENSSL_cleanse(k, sizeof(*k));
}

/* Only the value is overwritten, with zeroes: the name stays, as if the variable were empty. */
void key_hide(char *const *environment) {
    /* The strings of the environment may be changed, although the list is const. */
    for (; *environment != NULL; environment++) {
        static const char start[] = "RINGMASTER_KEY=";
        if (strncmp(*environment, start, sizeof(start) - 1) == 0) {
            char *value = *environment + sizeof(start) - 1;
            OPENSSL_cleanse(value, strlen(value));
        }
    }
}

/* --- derivation ------------------------------------------------------------------------------ */

/* SHA-384 of the job's name and its hosts, each followed by a NUL, so that no two lists give the
 * same bytes. If the platform has restarted the job, the number of earlier attempts follows with a
 * '#', with which no name begins: hosts of an earlier attempt then have another key. A digest,
 * because OpenSSL 3.0 accepts at most 2 KiB of info. */
static int digest_job(const struct cluster *cluster, unsigned char *ret, struct error *err) {
    char attempt[16];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int good = context != NULL && EVP_DigestInit_ex(context, EVP_sha384(), NULL) == 1 &&
               EVP_DigestUpdate(context, cluster->job, strlen(cluster->job) + 1) == 1;
    for (size_t i = 0; good && i < cluster->count; i++) {
        const char *name = cluster->hosts[i].name.text;
        good = EVP_DigestUpdate(context, name, strlen(name) + 1) == 1;
    }
    int size = snprintf(attempt, sizeof(attempt), "#%u", cluster->before);
    if (cluster->before > 0)
        good = good && EVP_DigestUpdate(context, attempt, (size_t)size + 1) == 1;
    /* Each step runs only after the one before; OpenSSL returns 1 for success. */
    good = good && EVP_DigestFinal_ex(context, ret, NULL) == 1;
    EVP_MD_CTX_free(context);
    return good ? 0 : error_set(err, EXIT_CODE_INTERNAL, "OpenSSL cannot digest the job's name");
}

/* KEY_SIZE bytes at RET. The salt keeps these keys apart from those that other programs may derive
 * from the same secret. Returns -1 if OpenSSL refuses, for instance for lack of memory. */
static int hkdf(const unsigned char *secret, size_t size, unsigned char info[DIGEST_SIZE],
                unsigned char *ret) {
    static char digest[] = "SHA384";
    static char salt[] = "ringmaster 1";
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf != NULL ? EVP_KDF_CTX_new(kdf) : NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)secret, size),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt, sizeof(salt) - 1),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, DIGEST_SIZE),
        OSSL_PARAM_construct_end(),
    };
    int derived = context != NULL ? EVP_KDF_derive(context, ret, KEY_SIZE, params) : 0;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return derived == 1 ? 0 : -1;
}

int key_derive(const unsigned char *secret, size_t size, const struct cluster *cluster,
               struct key *ret, struct error *err) {
    unsigned char info[DIGEST_SIZE];
    if (digest_job(cluster, info, err) != 0)
        return -1;
    if (hkdf(secret, size, info, ret->bytes) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "OpenSSL cannot derive the job's key");
    return 0;
}

/* PURPOSE takes the place of the job: its digest is the info of another derivation, with the key
 * itself as the secret. */
int key_for(const struct key *k, const char *purpose, unsigned char ret[KEY_SIZE],
            struct error *err) {
    unsigned char info[DIGEST_SIZE];
    if (EVP_Digest(purpose, strlen(purpose), info, NULL, EVP_sha384(), NULL) != 1 ||
        hkdf(k->bytes, KEY_SIZE, info, ret) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "OpenSSL cannot derive a key");
    return 0;
}

/* --- places of the secret -------------------------------------------------------------------- */

/* The whole capacity, not only what is in use. */
static void wipe(struct buf *text) {
    if (text->data != NULL)
        OPENSSL_cleanse(text->data, text->capacity);
    buf_done(text);
}
#define cleanup_secret __attribute__((cleanup(wipe)))

/* Returns true if ST's file or folder is writable by anyone but root and this process's user. Their
 * own groups are trusted. A sticky folder is safe, because nobody can replace the files of others.
 */
static bool is_open_to_others(const struct stat *st) {
    /* Group 0 is root's own, and the other one this process's. */
    bool group = st->st_gid == 0 || st->st_gid == getegid();
    mode_t others = S_IWOTH | (group ? 0 : S_IWGRP);
    return (st->st_mode & others) != 0 && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0);
}

/* Checks every folder on the path of the file, with links resolved. A folder that others can write
 * to lets them replace the file, however it is protected itself. */
static int check_folders(const char *path, struct error *err) {
    struct stat st;
    cleanup_free char *real = realpath(path, NULL);
    if (real == NULL)
        return error_set_errno(err, EXIT_CODE_CONFIG, "the key file %s", path);
    for (char *slash = strrchr(real, '/'); slash != NULL; slash = strrchr(real, '/')) {
        *slash = '\0';
        const char *folder = real[0] != '\0' ? real : "/";
        if (stat(folder, &st) != 0)
            return error_set_errno(err, EXIT_CODE_CONFIG, "the key file's folder %s", folder);
        if (is_open_to_others(&st))
            return error_set(
                err, EXIT_CODE_CONFIG,
                "the key file %s: its folder %s is writable by others; run chmod go-w on it", path,
                folder);
    }
    return 0;
}

/* On the open file, so that nobody can put another one in its place in between. */
static int check_file(int fd, const char *path, struct error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "the key file %s", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "the key file %s is not a file", path);
    if (is_open_to_others(&st))
        return error_set(err, EXIT_CODE_CONFIG,
                         "the key file %s is writable by %s; run chmod go-w on it", path,
                         (st.st_mode & S_IWOTH) != 0 ? "everybody" : "a group");
    /* Root accepts a file of any owner: the user who started the container provided it. */
    if (geteuid() != 0 && st.st_uid != 0 && st.st_uid != geteuid())
        return error_set(
            err, EXIT_CODE_CONFIG,
            "the key file %s belongs to user %u; it must belong to root or to this user, %u", path,
            (unsigned)st.st_uid, (unsigned)geteuid());
    return 0;
}

/* Reads a file's text. The buffer has its full size from the start, so that growing leaves no copy
 * in memory. The file is opened once, so the checked file is the one that is read; a FIFO does not
 * block. */
static int read_secret(const char *path, struct buf *ret, struct error *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "the key file %s", path);
    if (check_file(fd, path, err) != 0 || buf_reserve(ret, READ_MAX, err) != 0)
        return -1;
    for (ssize_t got = 1; got > 0; ret->size += (size_t)got) {
        if (ret->size == READ_MAX)
            return error_set(err, EXIT_CODE_CONFIG, "the key file %s has more than %d bytes", path,
                             READ_MAX);
        got = read(fd, ret->data + ret->size, READ_MAX - ret->size);
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_CONFIG, "reading the key file %s", path);
    }
    ret->data[ret->size] = '\0';
    return 0;
}

/* Blanks and line ends at the end do not count: editors and `echo` add them. PLACE is for messages
 * and for the log. */
static int derive_from(const char *secret, size_t size, const struct cluster *cluster,
                       const char *place, enum key_source source, struct key *ret,
                       struct error *err) {
    /* strchr() also finds the NUL at the end of the set, so that NULs at the end go, too. */
    while (size > 0 && strchr(" \t\r\n", secret[size - 1]) != NULL)
        size--;
    if (size < KEY_SECRET_MIN || size > KEY_SECRET_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "the key in %s has %zu bytes, not %d to %d", place,
                         size, KEY_SECRET_MIN, KEY_SECRET_MAX);
    ret->source = source;
    snprintf(ret->place, sizeof(ret->place), "%s", place);
    return key_derive((const unsigned char *)secret, size, cluster, ret, err);
}

/* The buffer is wiped on every way out. */
static int derive_from_file(const char *path, const struct cluster *cluster, enum key_source source,
                            struct key *ret, struct error *err) {
    cleanup_secret struct buf text;
    buf_init(&text, READ_MAX + 1);
    if (read_secret(path, &text, err) != 0)
        return -1;
    return derive_from(buf_text(&text), text.size, cluster, path, source, ret, err);
}

/* The key of the seed for no job, and from that another one of which eight bytes are shown: nothing
 * leads back to the seed. */
int key_fingerprint(const struct key_places *places, char ret[KEY_FINGERPRINT_SIZE],
                    struct error *err) {
    static const struct cluster nobody = {.job = ""};
    const char *seed = places != NULL && places->seed != NULL ? places->seed : SEED;
    unsigned char bytes[KEY_SIZE] = {0};
    struct key k = {0};
    bool there = false;
    ret[0] = '\0';
    if (file_look(seed, NULL, &there, err) != 0)
        return -1;
    if (!there)
        return 0;
    int made = derive_from_file(seed, &nobody, KEY_FROM_SEED, &k, err);
    if (made == 0)
        made = key_for(&k, "fingerprint", bytes, err);
    key_done(&k);
    if (made != 0)
        return -1;
    for (size_t i = 0; i < KEY_FINGERPRINT_SIZE / 2; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return 1;
}

/* The last place: a seed that everybody with the image knows. */
static int derive_from_seed(const struct settings *settings, const struct cluster *cluster,
                            const char *seed, struct key *ret, struct error *err) {
    static const char advice[] = "give all hosts the same RINGMASTER_KEY or RINGMASTER_KEY_FILE";
    if (settings->require_key)
        return error_set(err, EXIT_CODE_KEY_REFUSED,
                         "RINGMASTER_REQUIRE_KEY is set and there is no key: %s", advice);
    bool there = false;
    if (file_look(seed, NULL, &there, err) != 0)
        return -1;
    if (!there)
        return error_set(err, EXIT_CODE_CONFIG, "there is no key and no %s in the image: %s", seed,
                         advice);
    if (access(seed, R_OK) != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the image's seed, %s, is not for user %u to read: %s", seed,
                         (unsigned)geteuid(), advice);
    return derive_from_file(seed, cluster, KEY_FROM_SEED, ret, err);
}

/* The order is that of key.h. On failure *RET may hold bytes of a key that was derived in part: the
 * caller ends it with key_done(). */
int key_make(const struct settings *settings, const struct cluster *cluster,
             const struct key_places *places, struct key *ret, struct error *err) {
    *ret = (struct key){0};
    /* A file that the user names must be there and be sound. */
    if (settings->key_file != NULL) {
        if (check_folders(settings->key_file, err) != 0)
            return -1;
        return derive_from_file(settings->key_file, cluster, KEY_FROM_FILE, ret, err);
    }
    const char *secret = places->docker_secret != NULL ? places->docker_secret : DOCKER_SECRET;
    /* A secret that cannot be checked is not a missing one: the next place's secret may be public.
     */
    bool there = false;
    if (file_look(secret, NULL, &there, err) != 0)
        return -1;
    if (there)
        return derive_from_file(secret, cluster, KEY_FROM_FILE, ret, err);
    char channel[PATH_MAX];
    int size =
        snprintf(channel, sizeof(channel), "%s/input/data/key/ringmaster_key", settings->base_dir);
    if (size < 0 || (size_t)size >= sizeof(channel))
        return error_set(
            err, EXIT_CODE_CONFIG,
            "SAGEMAKER_BASE_DIR, %.64s..., is too long: a path below it has more than %d bytes",
            settings->base_dir, PATH_MAX - 1);
    if (file_look(channel, NULL, &there, err) != 0)
        return -1;
    if (there)
        return derive_from_file(channel, cluster, KEY_FROM_FILE, ret, err);
    if (settings->key != NULL)
        return derive_from(settings->key, strlen(settings->key), cluster, "RINGMASTER_KEY",
                           KEY_FROM_VARIABLE, ret, err);
    return derive_from_seed(settings, cluster, places->seed != NULL ? places->seed : SEED, ret,
                            err);
}
