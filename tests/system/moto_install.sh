#!/bin/sh
# Installs moto (PyPI), an S3 server for tests, and what that server needs into build/moto
# (tests/venv.sh).
exec sh "$(dirname "$0")/../venv.sh" moto 'moto[s3]==5.2.5' flask flask-cors boto3
