/* Style sheet of a report's page. */
#ifndef TRAINER_REPORT_PAGE_STYLE_H
#define TRAINER_REPORT_PAGE_STYLE_H

/* Pieces, one behind the other; NULL-terminated. */
extern const char *const PAGE_STYLE[];

#endif
