#!/bin/sh
# make_venv.sh FOLDER [PYTHON]: create a virtual environment with the given Python, or with the first
# one that is new enough.
set -eu
folder=$1
shift
enough='import sys; sys.exit(sys.version_info < (3, 11))'
for python in ${1:-python3 python3.13 python3.12 python3.11 python}; do
    if "$python" -c "$enough" 2> /dev/null; then
        "$python" -m venv --clear "$folder"
        exit 0
    fi
done
version=$("${1:-python3}" --version 2> /dev/null || echo "no ${1:-python3}")
echo "podium needs Python 3.11 or newer, but found $version. Install it, or pass its path:" >&2
echo "    make PYTHON=/path/to/python3.12 ..." >&2
exit 1
