/* Sections of a report (page.h). Each appends itself, or a line that says what is missing. */
#ifndef TRAINER_REPORT_SECTION_H
#define TRAINER_REPORT_SECTION_H

#include "common/html/html.h"
#include "trainer/report/run_folder.h"

#include <stddef.h>

/* What a page shows; borrowed. */
struct page_runs {
    const struct run_folder *const *list;
    size_t count;
};

void section_summary(struct html *h, const struct page_runs *runs);
void section_curves(struct html *h, const struct page_runs *runs);
void section_times(struct html *h, const struct page_runs *runs);
void section_classes(struct html *h, const struct page_runs *runs);
void section_confusion(struct html *h, const struct page_runs *runs);
void section_pictures(struct html *h, const struct page_runs *runs);
void section_settings(struct html *h, const struct page_runs *runs);
void section_attempts(struct html *h, const struct page_runs *runs);

/* Opens a section with its heading; CLOSE it with "</section>". */
void section_open(struct html *h, const char *heading, const char *intro);
/* Appends the name of a run with its colour, where there are several. */
void section_run_name(struct html *h, const struct page_runs *runs, size_t run);
/* Appends a time of run.jsonl, "2026-11-27T16:08:15.042Z", as 2026-11-27 16:08:15. */
void section_time(struct html *h, const char *time);
/* Returns the member NAME of RUN's settings as text; "": there is none. */
const char *section_text(const struct run_folder *run, const char *name);
/* Returns it as a number; NaN: there is none. */
double section_number(const struct run_folder *run, const char *name);

#endif
