/* Report of a scaling study (scaling.h).
 *
 * It is made as text, as CSV and as a page with charts. */
#ifndef COMMON_SCALING_SCALING_PAGE_H
#define COMMON_SCALING_SCALING_PAGE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/file/output_path.h"
#include "common/scaling/scaling.h"

#include <stddef.h>

#define SCALING_TEXT_NAME "scaling.txt"
#define SCALING_CSV_NAME "scaling.csv"
#define SCALING_HTML_NAME "scaling.html"

/* A row of the table: a measured size, or one that the model projects to. */
struct scaling_row {
    int ranks;
    int hosts;                         /* 0: unknown */
    const struct scaling_point *point; /* NULL: projected */
    double rate, efficiency, seconds;  /* NaN: unknown */
};

enum { SCALING_ROWS_MAX = SCALING_POINTS_MAX + SCALING_PROJECTED_MAX };

/* Writes the rows to RET and returns how many there are. */
size_t scaling_rows(const struct scaling_study *s, struct scaling_row ret[SCALING_ROWS_MAX]);
/* Appends a description of the model, and how far it was off on sizes that it was not fitted to; ""
 * without a model. */
int scaling_model_words(const struct scaling_study *s, struct buf *out, struct error *err);

int scaling_text(const struct scaling_study *s, struct buf *out, struct error *err);
/* One row a size; columns are named in the first line. */
int scaling_csv(const struct scaling_study *s, struct buf *out, struct error *err);
/* A page of its own, without script, font or network. */
int scaling_html(const struct scaling_study *s, struct buf *out, struct error *err);

/* Writes all three into FOLDER, which exists. */
int scaling_write(const struct scaling_study *s, const char *folder, struct error *err);

/* Concludes the study, writes it into FOLDER and prints it; RESULT is that of the measurements, of
 * which ERR tells. EXIT_CODE_DATA if no size was measured. */
int scaling_report(struct scaling_study *s, const char *folder, int result, struct error *err);

/* "12.3 s", "1 h 05 min"; "-" for NaN. */
enum { SCALING_DURATION_SIZE = 32 };
void scaling_duration(char ret[SCALING_DURATION_SIZE], double seconds);

#endif
