/* Form of a request for predictions, from its headers and its body.
 *
 * Content types: image/jpeg, image/png, application/x-image and application/octet-stream, of which
 * the body is one picture, whatever the type says of its format; application/json with
 * {"instances": [{"b64": "..."}, ...]}, pictures in base64, and other keys ignored.
 *
 * Errors have EXIT_CODE_DATA and a text for the client: what is wrong, and what is expected. */
#ifndef TRAINER_APP_SERVE_REQUEST_REQUEST_FORM_H
#define TRAINER_APP_SERVE_REQUEST_REQUEST_FORM_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pictures of a request at most. */
enum { REQUEST_INSTANCES_MAX = 64 };

enum request_content { REQUEST_UNKNOWN, REQUEST_PICTURE, REQUEST_JSON };

/* Returns how the body with that Content-Type (NULL: none) is read. */
enum request_content request_content_of(const char *type);

/* Returns true if an answer as application/json suits the header Accept (NULL: any). Sets
 * *RET_MASKS to whether it asks for masks: "application/json; masks=true". */
bool request_accepts_json(const char *accept, bool *ret_masks);

/* Called for each picture of a body, with its place among them. */
struct request_pictures {
    int (*take)(void *user, size_t place, const uint8_t *bytes, size_t size, struct error *err);
    void *user;
};

/* Hands the pictures in BODY, which is followed by a NUL, to PICTURES. An error of `take` ends the
 * reading; that of one of several pictures is prefixed by "instance N". */
int request_read(enum request_content content, const struct buf *body,
                 const struct request_pictures *pictures, struct error *err);

#endif
