#!/bin/sh
# Installs moto (PyPI), which plays S3, into build/moto: tests/venv.sh.
exec sh "$(dirname "$0")/../venv.sh" moto 'moto[server]==5.2.5' boto3
