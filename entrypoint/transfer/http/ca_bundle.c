#include "entrypoint/transfer/http/ca_bundle.h"

#include <curl/curl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static const char *const usual[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Amazon Linux, Red Hat, Fedora */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Red Hat without the older name */
    "/etc/ssl/ca-bundle.pem",                            /* SUSE */
    "/etc/ssl/cert.pem",                                 /* Alpine without ca-certificates */
};

static bool is_there(const char *root, const char *file) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s%s", root, file);
    return size > 0 && (size_t)size < sizeof(path) && access(path, R_OK) == 0;
}

const char *ca_bundle_find(const char *root) {
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (is_there(root, usual[i]))
            return usual[i];
    return usual[0];
}

const char *ca_bundle_default(void) {
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    return curl->cainfo != NULL || curl->capath != NULL ? NULL : ca_bundle_find("");
}
