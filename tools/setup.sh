#!/usr/bin/env bash
# Everything a bare Debian 12 needs to build and test: compiler and libraries through apt, Python tools through pip.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
need() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q "ok installed" || packages+=("$1"); }
for p in g++ make git ccache python3 python3-venv python3-dev libgtest-dev zlib1g-dev libsqlite3-dev; do need "$p"; done
if [ ${#packages[@]} -gt 0 ]; then
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

[ -x .venv/bin/python ] || python3 -m venv .venv
stamp=.venv/walle-setup.sha256
want=$(sha256sum pyproject.toml tools/requirements-dev.txt | sha256sum)
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$want" ]; then
  .venv/bin/python -m pip install -q -U pip
  .venv/bin/python -m pip install -q -r tools/requirements-dev.txt
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  echo "$PWD/src/python" >"$site/walle_rt_checkout.pth"
  echo "$want" >"$stamp"
fi
