/* Report of one run or of several beside each other: one HTML file without script, font or network,
 * a pure function of the runs' folders. Its charts are inline SVG, its colours follow the reader's
 * choice of light or dark. */
#ifndef TRAINER_REPORT_PAGE_H
#define TRAINER_REPORT_PAGE_H

#include "common/error.h"
#include "common/file/output_path.h"
#include "common/html/html.h"
#include "trainer/report/run_folder.h"

#include <stddef.h>

/* Name of the page in the folder of a run. */
#define PAGE_NAME "report.html"

/* Pages that this program has written, which may be replaced. */
extern const struct output_path_kind PAGE_KIND;

/* Bytes of pictures in a page. */
enum { PAGE_PICTURES_BYTES = 3 * 1024 * 1024 };

/* Appends the page of COUNT runs, 1 .. PAGE_RUNS_MAX. */
void page_put(struct html *h, const struct run_folder *const *runs, size_t count);

/* Replaces the file PATH with the page of the runs in FOLDERS, COUNT of them. */
int page_write(const char *const *folders, size_t count, const char *path, struct error *err);
/* The same for one run that has its pictures in another folder, "" for none. */
int page_write_run(const char *folder, const char *pictures_folder, const char *path,
                   struct error *err);

#endif
