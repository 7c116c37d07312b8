/* For builds without libmicrohttpd. */
#include "trainer/app/serve/http/http_server.h"

int http_server_start(struct http_server **ret, struct server *server,
                      const struct http_options *options, int stop, struct error *err) {
    (void)server;
    (void)options;
    (void)stop;
    *ret = NULL;
    return error_set(err, EXIT_CODE_CONFIG,
                     "serve: not in this build, which was made without libmicrohttpd");
}

void http_server_done(struct http_server *http) {
    (void)http;
}

const char *http_server_library(void) {
    return NULL;
}
