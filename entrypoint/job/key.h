/* The key of the control link: 48 bytes = HKDF-SHA384 (RFC 5869) of a secret, with salt
 * "ringmaster 1" and, as info, the SHA-384 of the job's name, its sorted hosts and, where the
 * platform tries it again, the attempt. Hosts of one job that hold the same secret have the same
 * key; other jobs with that secret have others, and so have hosts of an earlier attempt.
 *
 * The secret, first that applies: the file RINGMASTER_KEY_FILE; /run/secrets/ringmaster_key;
 * BASE/input/data/key/ringmaster_key (a channel called "key"); RINGMASTER_KEY; and else the seed of
 * the image, /etc/ringmaster/seed, which only keeps out those who cannot pull the image and which
 * RINGMASTER_REQUIRE_KEY=1 refuses. Secrets are 16 to 4,096 bytes, line ends and blanks
 * at the end not counted, in regular files (links are followed: secrets are mounted that way) that
 * neither everybody nor a foreign group may write, of root or this user, unless we are root. The
 * folders on the way to RINGMASTER_KEY_FILE are held to the same; the other places are the
 * platform's. */
#ifndef ENTRYPOINT_JOB_KEY_H
#define ENTRYPOINT_JOB_KEY_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/settings.h"

enum { KEY_SIZE = 48, KEY_SECRET_MIN = 16, KEY_SECRET_MAX = 4096 };

enum key_source { KEY_FROM_FILE, KEY_FROM_VARIABLE, KEY_FROM_SEED };

struct key {
    unsigned char bytes[KEY_SIZE];
    enum key_source source;
    char place[256]; /* for the log: path or variable */
};

/* Wipes the bytes. */
void key_done(struct key *k);

/* Places of the files; zeroed fields take the defaults above. */
struct key_places {
    const char *docker_secret;
    const char *seed;
};

int key_make(const struct settings *settings, const struct cluster *cluster,
             const struct key_places *places, struct key *ret, struct error *err);

/* Derives another key for another PURPOSE by the same function: its holders learn nothing about the
 * first key. */
int key_for(const struct key *k, const char *purpose, unsigned char ret[KEY_SIZE],
            struct error *err);

/* Fingerprint of the image's seed (PLACES may be NULL): distinguishes seeds and is useless for
 * guessing a random one. Returns 1 if there is a seed, 0 if there is none, -1 with ERR if it may
 * not be read or is invalid. */
enum { KEY_FINGERPRINT_SIZE = 17 };
int key_fingerprint(const struct key_places *places, char ret[KEY_FINGERPRINT_SIZE],
                    struct error *err);

/* Overwrites the value of RINGMASTER_KEY in ENVIRONMENT, which others see in /proc/PID/environ. */
void key_hide(char *const *environment);

/* Derives the key only. */
int key_derive(const unsigned char *secret, size_t size, const struct cluster *cluster,
               struct key *ret, struct error *err);

#endif
