/* SHA-256 of archives in which data sets are published, by file name.
 *
 * Source: the checksums of TensorFlow Datasets (tensorflow_datasets/url_checksums). */
#ifndef TRAINER_DATA_DOWNLOAD_KNOWN_ARCHIVES_H
#define TRAINER_DATA_DOWNLOAD_KNOWN_ARCHIVES_H

/* Returns the SHA-256 of the archive called NAME, in lower case, or NULL. */
const char *known_archive_sha256(const char *name);

#endif
