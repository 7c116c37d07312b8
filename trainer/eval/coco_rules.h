/* Constants of the COCO detection challenge, as the doubles that numpy computes. */
#ifndef TRAINER_EVAL_COCO_RULES_H
#define TRAINER_EVAL_COCO_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* Overlap threshold 0..9: 0.5 to 0.95. The ninth lies one bit below 0.9. */
double coco_threshold(size_t number);

/* Recall point 0..100: 0 to 1. */
double coco_recall(size_t number);

/* Name of area range 0..3, and whether AREA lies outside it; both ends lie inside. */
const char *coco_area_name(size_t number);
bool coco_area_outside(size_t number, double area);

/* Detection limit 0..2. */
size_t coco_limit(size_t number);

#endif
