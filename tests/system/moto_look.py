"""Prints an object, the keys or the unfinished uploads of the bucket of moto_fill.py.

    moto_look.py ADDRESS ID SECRET get KEY | list PREFIX | unfinished"""
import sys

import boto3

address, key_id, secret, verb, *rest = sys.argv[1:]
s3 = boto3.client("s3", endpoint_url=address, region_name="us-east-1",
                  aws_access_key_id=key_id, aws_secret_access_key=secret)
if verb == "get":
    sys.stdout.write(s3.get_object(Bucket="jobs", Key=rest[0])["Body"].read().decode())
elif verb == "list":
    for item in s3.list_objects_v2(Bucket="jobs", Prefix=rest[0]).get("Contents", []):
        print(item["Key"])
else:
    for item in s3.list_multipart_uploads(Bucket="jobs").get("Uploads", []):
        print(item["Key"])
