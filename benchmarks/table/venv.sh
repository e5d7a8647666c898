#!/bin/sh
# Makes a virtual environment with what peers.py needs, or leaves the one of an earlier run as it is.
# Usage: venv.sh FOLDER. The interpreter is that of the variable PYTHON, else python3.11, else python3.
set -eu

folder=$1
requirements=$(dirname "$0")/requirements.txt
done_mark=$folder/requirements.done

if [ -x "$folder/bin/python" ] && cmp -s "$requirements" "$done_mark"; then
    exit 0
fi

python=${PYTHON:-python3.11}
command -v "$python" >/dev/null 2>&1 || python=python3

rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: --requirement "$requirements"
"$folder/bin/python" -c 'import deltalake, lance, pyarrow, pyiceberg'
cp "$requirements" "$done_mark"
