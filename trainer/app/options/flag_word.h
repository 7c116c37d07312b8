/* What other trainers call what a flag here does: torchrun, torchvision, timm, Lightning,
 * Detectron2, Hugging Face's Trainer. */
#ifndef TRAINER_APP_OPTIONS_FLAG_WORD_H
#define TRAINER_APP_OPTIONS_FLAG_WORD_H

#include <stddef.h>

struct flag_word {
    const char *word; /* without "--", with '-' */
    const char *flag; /* ours; NULL: there is none... */
    const char *hint; /* ...but this is how it is done */
};

/* The row for SIZE bytes of TEXT, in which '-' and '_' and letters of either case are the same;
 * NULL: nobody calls a thing so. */
const struct flag_word *flag_word_find(const char *text, size_t size);
/* All rows. */
const struct flag_word *flag_word_table(size_t *ret_count);

#endif
