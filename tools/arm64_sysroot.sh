#!/usr/bin/env bash
# arm64_sysroot.sh FOLDER: Debian's arm64 packages that the cross build links and its tests run in, unpacked
# there without touching the machine, and a Python with the packages of tools/requirements-arm64.txt:
# FOLDER/venv/bin/python runs in the emulator, on the processor that QEMU_CPU names. A private apt root and
# not `dpkg --add-architecture`: that would need root, and refuses wherever the machine's own libraries are of
# another patch level than the archive's.
set -euo pipefail
wheels=$(dirname "$0")/requirements-arm64.txt
mkdir -p "$1"
target=$(cd "$1" && pwd)
# Static libraries to link; the C library and what Python stands on, to run with; libraries that are looked
# for at run time. No libc6-dev: headers and start files are the cross compiler's own.
packages=(zlib1g-dev libgtest-dev
  libc6 libgcc-s1 libstdc++6 zlib1g python3.11-minimal libpython3.11-minimal libpython3.11-stdlib
  libpython3.11-dev libexpat1 libffi8 libsqlite3-0 libbz2-1.0 liblzma5 libuuid1
  libssl3 libpng16-16 libturbojpeg0)
stamp=$target/.packages
want=$(cat "$0" "$wheels" | sha256sum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then exit 0; fi

echo "setup: unpacking ${#packages[@]} packages for arm64 into $1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{lists/partial,cache/archives/partial,debs}
options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User="$(id -un)"
  -o Dir::State::lists="$scratch/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$scratch/cache"
  -o Acquire::Languages=none -o Debug::NoLocking=1)
# Sources of others than Debian may have no arm64 part; only the download below decides.
apt-get "${options[@]}" update || true
(cd "$scratch/debs" && apt-get "${options[@]}" download "${packages[@]}")
for deb in "$scratch"/debs/*.deb; do dpkg-deb -x "$deb" "$target"; done
# Debian's pyconfig.h includes <aarch64-linux-gnu/python3.11/pyconfig.h>: found here by Python's own folder.
ln -sfn ../aarch64-linux-gnu "$target/usr/include/python3.11/aarch64-linux-gnu"

# A venv by its file alone: Python looks beside what it was started as, which -0 says.
rm -rf "$target/venv"
mkdir -p "$target/venv/bin"
printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >"$target/venv/pyvenv.cfg"
cat >"$target/venv/bin/python" <<'EOF'
#!/bin/sh
root=$(readlink -f "$0") && root=${root%/venv/bin/python}
exec qemu-aarch64-static -L "$root" -0 "$0" "$root/usr/bin/python3.11" "$@"
EOF
chmod +x "$target/venv/bin/python"
echo "setup: installing what tools/requirements-arm64.txt asks for"
"$(dirname "$0")/../.venv/bin/python" -m pip install -q --disable-pip-version-check --only-binary=:all: \
  --target "$target/venv/lib/python3.11/site-packages" --implementation cp --python-version 3.11 \
  --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_26_aarch64 \
  --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 -r "$wheels"
echo "$want" >"$stamp"
