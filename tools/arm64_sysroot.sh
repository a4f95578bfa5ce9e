#!/usr/bin/env bash
# arm64_sysroot.sh FOLDER: Debian's arm64 packages that the cross build links, unpacked there without touching
# the machine. The C library and the compiler's own come with g++-aarch64-linux-gnu. A private apt root and
# not `dpkg --add-architecture`: that would need root, and refuses wherever the machine's own libraries are of
# another patch level than the archive's.
set -euo pipefail
target=$1
# Their static libraries: programs then run with the compiler's own root.
packages=(zlib1g-dev libgtest-dev)
stamp=$target/.packages
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "${packages[*]}" ]; then exit 0; fi

echo "setup: unpacking ${packages[*]} for arm64 into $target"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{lists/partial,cache/archives/partial,debs} "$target"
options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User="$(id -un)"
  -o Dir::State::lists="$scratch/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$scratch/cache"
  -o Acquire::Languages=none -o Debug::NoLocking=1)
# Sources of others than Debian may have no arm64 part; only the download below decides.
apt-get "${options[@]}" update || true
(cd "$scratch/debs" && apt-get "${options[@]}" download "${packages[@]}")
for deb in "$scratch"/debs/*.deb; do dpkg-deb -x "$deb" "$target"; done
echo "${packages[*]}" >"$stamp"
