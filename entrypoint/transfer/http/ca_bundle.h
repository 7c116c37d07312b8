/* Path of the file of trusted certificate authorities, for libcurl.
 *
 * It serves a libcurl that was built without a place to look: one program runs in images of all
 * distributions, and each has its own. */
#ifndef ENTRYPOINT_TRANSFER_HTTP_CA_BUNDLE_H
#define ENTRYPOINT_TRANSFER_HTTP_CA_BUNDLE_H

/* The first of the known files that is readable below ROOT ("" but in tests), else the most usual
 * one, so that an error names it. Static. */
const char *ca_bundle_find(const char *root);

/* The path for libcurl: NULL where it was built with a place of its own. */
const char *ca_bundle_default(void);

#endif
