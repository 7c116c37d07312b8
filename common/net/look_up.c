#include "common/net/look_up.h"

#ifdef __GLIBC__

int look_up_name(const char *name, const char *port, const struct addrinfo *hints,
                 struct addrinfo **ret) {
    return getaddrinfo(name, port, hints, ret);
}

#else

#include "common/file/file.h"
#include "common/net/search_list.h"

enum { RESOLV_CONF_MAX = 64 * 1024 };

int look_up_name(const char *name, const char *port, const struct addrinfo *hints,
                 struct addrinfo **ret) {
    const int code = getaddrinfo(name, port, hints, ret);
    cleanup_buf struct buf text;
    char full[SEARCH_LIST_NAME_SIZE];
    struct search_list list;
    buf_init(&text, RESOLV_CONF_MAX);
    if (code == 0 || file_read("/etc/resolv.conf", &text, NULL) != 0)
        return code;
    search_list_read(buf_text(&text), &list);
    if (!search_list_is_left_out(&list, name))
        return code;
    for (const char *at = list.domains; (at = search_list_next(at, name, full)) != NULL;)
        if (getaddrinfo(full, port, hints, ret) == 0)
            return 0;
    return code;
}

#endif
