#include "entrypoint/transfer/peers/peer_request.h"

#include "common/str.h"
#include "entrypoint/transfer/http/percent.h"

#include <string.h>
#include <strings.h>

static const char line_end[] = "\r\n";

size_t peer_request_head(const char *text, size_t size) {
    for (size_t i = 4; i <= size; i++)
        if (memcmp(text + i - 4, "\r\n\r\n", 4) == 0)
            return i;
    return 0;
}

static int copy(const char *from, size_t size, char *ret, size_t room) {
    if (size >= room || memchr(from, '\0', size) != NULL)
        return -1;
    memcpy(ret, from, size);
    ret[size] = '\0';
    return 0;
}

/* Parses "/TASK/PATH". */
static int parse_target(const char *target, size_t size, struct peer_request *ret) {
    if (size == 0 || target[0] != '/')
        return -1;
    if (size == 1)
        return 0;
    const char *task = target + 1;
    const char *slash = memchr(task, '/', size - 1);
    if (slash == NULL || slash == task ||
        copy(task, (size_t)(slash - task), ret->task, sizeof(ret->task)) != 0 ||
        copy(slash + 1, (size_t)(target + size - slash - 1), ret->path, sizeof(ret->path)) != 0)
        return -1;
    if (percent_decode(ret->task, NULL) < 0 || percent_decode(ret->path, NULL) < 0)
        return -1;
    return ret->path[0] != '\0' && ret->task[0] != '\0' ? 0 : -1;
}

/* Parses "bytes=10-" or "bytes=10-99". */
static int parse_range(char *text, struct peer_request *ret) {
    char *dash = strchr(text, '-');
    if (!str_starts_with(text, "bytes=") || dash == NULL)
        return -1;
    *dash = '\0';
    if (str_parse_int(text + strlen("bytes="), 0, INT64_MAX, &ret->from, NULL) != 0)
        return -1;
    if (dash[1] == '\0')
        return 0;
    return str_parse_int(dash + 1, ret->from, INT64_MAX, &ret->to, NULL);
}

static int parse_etag(const char *text, struct peer_request *ret) {
    size_t size = strlen(text);
    if (size < 2 || text[0] != '"' || text[size - 1] != '"')
        return -1;
    return copy(text + 1, size - 2, ret->etag, sizeof(ret->etag));
}

static int parse_field(const char *line, size_t size, struct peer_request *ret) {
    char value[PEER_REQUEST_ETAG_MAX + 2];
    const char *colon = memchr(line, ':', size);
    if (colon == NULL)
        return -1;
    size_t name = (size_t)(colon - line);
    const char *begin = colon + 1;
    while (begin < line + size && *begin == ' ')
        begin++;
    bool range = name == strlen("range") && strncasecmp(line, "range", name) == 0;
    bool match = name == strlen("if-match") && strncasecmp(line, "if-match", name) == 0;
    if (!range && !match)
        return 0;
    if (copy(begin, (size_t)(line + size - begin), value, sizeof(value)) != 0)
        return -1;
    return range ? parse_range(value, ret) : parse_etag(value, ret);
}

int peer_request_parse(const char *head, size_t size, struct peer_request *ret) {
    static const char method[] = "GET ";
    static const char version[] = " HTTP/1.1";
    *ret = (struct peer_request){.to = -1};
    const char *end = memmem(head, size, line_end, 2);
    size_t front = sizeof(method) - 1;
    size_t back = sizeof(version) - 1;
    size_t first = end != NULL ? (size_t)(end - head) : 0;
    if (first < front + back || memcmp(head, method, front) != 0 ||
        memcmp(end - back, version, back) != 0 ||
        parse_target(head + front, first - front - back, ret) != 0)
        return -1;
    for (const char *line = end + 2; line + 2 < head + size; line = end + 2) {
        end = memmem(line, size - (size_t)(line - head), line_end, 2);
        if (end == NULL || parse_field(line, (size_t)(end - line), ret) != 0)
            return -1;
    }
    return 0;
}
