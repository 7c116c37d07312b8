/* What a server of S3 answers to uploads, and what tells of credentials (metadata, the container's
 * endpoint): texts have their ceilings, and a document is understood or named. */
#include "common/text/redact.h"
#include "entrypoint/transfer/s3/credentials.h"
#include "entrypoint/transfer/s3/xml_fields.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* JSON: what is taken has an id and a secret, neither with a line end, and an end that is a time.
 */
static void check_credentials(const char *text, size_t size) {
    struct credentials c;
    struct error err = {0};
    if (credentials_parse(text, size, &c, &err) == 0) {
        CHECK(c.expires >= 0);
        CHECK(strlen(c.id) < sizeof(c.id) && strlen(c.secret) < sizeof(c.secret));
        CHECK(strpbrk(c.id, "\r\n") == NULL && strpbrk(c.token, "\r\n") == NULL);
    } else {
        CHECK(err.text[0] != '\0');
    }
    redact_done();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    char id[XML_FIELDS_ID_MAX];
    struct xml_fields_uploads left = {0};
    struct error err = {0};
    memset(id, 'x', sizeof(id));
    if (xml_fields_text(text, size, "InitiateMultipartUploadResult", "UploadId", id, sizeof(id),
                        &err) == 0)
        CHECK(memchr(id, '\0', sizeof(id)) != NULL);
    else
        CHECK(err.text[0] != '\0');
    if (xml_fields_uploads_read(text, size, &left, &err) == 0)
        for (size_t i = 0; i < left.count; i++)
            CHECK(left.items[i].key != NULL && left.items[i].id != NULL);
    CHECK(left.count <= XML_FIELDS_UPLOADS_MAX);
    xml_fields_uploads_done(&left);
    struct xml_fields_parts parts = {0};
    if (xml_fields_parts_read(text, size, &parts, &err) == 0)
        for (size_t i = 0; i < parts.count; i++)
            CHECK(parts.items[i].number > 0 && parts.items[i].size > 0 &&
                  parts.items[i].etag[0] != '\0');
    CHECK(parts.count <= XML_FIELDS_PARTS_MAX);
    xml_fields_parts_done(&parts);
    check_credentials(text, size);
    return 0;
}
