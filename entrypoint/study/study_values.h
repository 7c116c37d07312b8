/* Values of a metric that a slice's first rank has printed.
 *
 * They are found by common/text/metric_scan.h. */
#ifndef ENTRYPOINT_STUDY_STUDY_VALUES_H
#define ENTRYPOINT_STUDY_STUDY_VALUES_H

/* The last value of METRIC in the log of FOLDER; NaN: none. */
double study_values_last(const char *folder, const char *metric);

/* The median of the values after the first sixth, at least one, which is warm-up; a single value is
 * taken as it is. NaN: none. */
double study_values_median(const char *folder, const char *metric);

#endif
