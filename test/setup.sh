#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what the tests need through the system's package manager, after saying so. Where nothing is
# missing it does nothing, and needs no privilege.
#
# setup.sh peers: what the benchmarks compare with, and draw with, instead; and the browser in which the pages of
# traces are tested, which takes half as much room again as all that the tests need.

needed='g++ make binutils check pkg-config'
tools='valgrind libc6-dbg gdb clang libclang-rt-dev clang-tidy cppcheck spin libboost-context-dev
	libhttp-parser-dev curl netcat-openbsd wrk libuv1-dev libev-dev cmake groff-base mandoc'
cross='qemu-user gdb-multiarch gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross check:arm64 libstdc++6:arm64'
if [ "${1:-}" = peers ]; then
	needed=
	tools='libboost-context-dev libboost-fiber-dev libuv1-dev libev-dev golang-go nginx wrk python3 gnuplot-nox chromium'
	cross=
fi

have_dpkg() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

if ! have_dpkg; then
	cat <<-EOF
		setup: this system does not have apt. Please install, whatever they are called here:
		  for make check               libcheck, pkg-config, a C and a C++ compiler, binutils
		  for make valgrind            valgrind with its development header
		  for make lint                clang-tidy, cppcheck, groff, mandoc (optional)
		  for the models in test/model spin (optional)
		  for make check ARCH=aarch64  qemu-user (qemu-aarch64), a cross gcc and g++, and libcheck for arm64
		  for make examples            llhttp or http-parser, for httpd (optional)
		  for the example servers      curl, nc, wrk, which drive them in the tests (optional)
		  for test_trace_demo          chromium, which runs the pages of traces (optional)
		  for test_install             cmake, which builds a user's project with it (optional)
		  for make bench               Boost.Context, libuv, libev, wrk, nginx, go, python3 (optional)
	EOF
	pkg-config --exists check 2>/dev/null
	exit
fi

# An arm64 host has no need of a cross compiler.
[ "$(dpkg --print-architecture)" = amd64 ] || cross=

missing() {
	for package; do
		dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
	done
}

run() {
	echo "setup: $*"
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt() { run env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null; }

want=$(missing $needed $tools $cross)
if [ -z "$want" ]; then
	echo "setup: everything is installed"
	exit 0
fi
echo "setup: missing:" $want
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
	echo "setup: please install them as root"
	exit 1
fi

# A foreign architecture is added only where it is wanted: an archive may not serve it.
case $want in
*:arm64*) dpkg --print-foreign-architectures | grep -qx arm64 || run dpkg --add-architecture arm64 ;;
esac
apt update || echo "setup: the package lists could not be brought up to date, going on with those there are"

# All at once is the common case. Where one has another name or is not to be had, the others must still
# be installed, and `make check` on this processor needs only the first group.
apt install --no-install-recommends $want && exit 0
for package in $want; do apt install --no-install-recommends "$package"; done
want=$(missing $needed $tools $cross)
[ -z "$want" ] || echo "setup: could not be installed:" $want
[ -z "$(missing $needed)" ]
