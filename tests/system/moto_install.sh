#!/bin/sh
# Installs moto (PyPI), which plays S3, and of its server what that needs, into build/moto: tests/venv.sh.
exec sh "$(dirname "$0")/../venv.sh" moto 'moto[s3]==5.2.5' flask flask-cors boto3
