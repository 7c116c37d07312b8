#include "trainer/data/coco/coco_findings.h"

void coco_findings_add(struct coco_finding findings[COCO_FINDINGS], enum coco_finding_kind kind,
                       int64_t id) {
    struct coco_finding *finding = &findings[kind];
    if (finding->count < COCO_EXAMPLES)
        finding->examples[finding->count] = id;
    finding->count++;
}
