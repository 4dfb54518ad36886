#!/bin/sh
# deps.sh — makes sure that what the build needs is there; on Debian and its kin installs what is missing.
set -eu
need=''
has_header() { echo "#include <$1>" | gcc -E -x c - > /dev/null 2>&1; }
command -v gcc > /dev/null || need="$need gcc libc6-dev"
command -v flex > /dev/null || need="$need flex"
command -v bison > /dev/null || need="$need bison"
command -v ld > /dev/null && command -v objcopy > /dev/null || need="$need binutils"
command -v pkg-config > /dev/null || need="$need pkg-config"
command -v g++ > /dev/null || need="$need g++"
if command -v gcc > /dev/null; then
	has_header stdio.h || need="$need libc6-dev"
	has_header libtcc.h || need="$need libtcc-dev"
	has_header zlib.h || need="$need zlib1g-dev"
else
	need="$need libtcc-dev zlib1g-dev"
fi
[ -z "$need" ] && exit 0
echo "installing:$need"
if ! command -v apt-get > /dev/null; then
	echo "deps.sh: this is not Debian: please install what provides$need, then run make again" >&2
	exit 1
fi
sudo=''
if [ "$(id -u)" != 0 ]; then
	command -v sudo > /dev/null || { echo "deps.sh: not root and no sudo: please run as root: apt-get install$need" >&2; exit 1; }
	sudo=sudo
fi
install() { DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $need; }
install > /dev/null 2>&1 || { $sudo apt-get update && install; }
