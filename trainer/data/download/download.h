/* Archives of data sets, fetched from the web.
 *
 * ringmaster-transfer fetches them (download_child.h), with a line of progress: `ringtrain prepare`
 * with addresses in place of files. Interrupted downloads continue where they were. A file that is
 * there with the server's size is kept. SHA-256 is verified where it is given or known
 * (known_archives.h). */
#ifndef TRAINER_DATA_DOWNLOAD_DOWNLOAD_H
#define TRAINER_DATA_DOWNLOAD_DOWNLOAD_H

#include "common/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DOWNLOAD_FILES_MAX = 64, DOWNLOAD_PASSWORD_MAX = 4096, DOWNLOAD_SECONDS = 7 * 86400 };

/* Holds the password if no file is given; it is not passed on. */
#define DOWNLOAD_PASSWORD_VARIABLE "RINGTRAIN_PASSWORD"

struct download_options {
    const char *const *addresses;
    size_t count;
    const char *folder;        /* that the files go to; created if missing */
    const char *user;          /* NULL: none */
    const char *password_file; /* its first line; NULL: the variable's value */
    const char *sha256;        /* one for each address, separated by commas; NULL: as known */
    bool plain;                /* permits http:// */
    int64_t spare;             /* room to be left on the disk, in percent of the files' sizes */
};

/* Returns true if a word of the command line is an address and not a path. */
bool download_is_address(const char *word);

/* Sets PATHS to where each file lies or will lie. Addresses of another kind than https://, without
 * a name, or with equal names are refused with EXIT_CODE_USAGE; so is a user for several hosts, and
 * a password without TLS. Nothing is fetched. */
int download_plan(const struct download_options *options, char (*paths)[PATH_MAX],
                  struct error *err);

/* Fetches all files. Errors: EXIT_CODE_USAGE as above, EXIT_CODE_DATA for what a server says or
 * sends, EXIT_CODE_CONFIG for the disk and the password's file, EXIT_CODE_NOT_FOUND where there is
 * no ringmaster-transfer. */
int download_all(const struct download_options *options, struct error *err);

#endif
