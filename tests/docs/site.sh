#!/bin/sh
# Checks that the site of mkdocs.yml builds without a warning: every page is in its menu, and no
# link is broken. mkdocs is installed from PyPI into build/docs-venv.
set -u
cd "$(dirname "$0")/../.." || exit 70
sh tests/venv.sh docs-venv 'mkdocs-material==9.*' || exit
NO_MKDOCS_2_WARNING=1 exec build/docs-venv/bin/mkdocs build --strict
