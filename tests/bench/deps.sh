#!/bin/sh
# deps.sh — brings the peers of `make bench`: current PyTorch and JAX from PyPI into a venv at $PXL_PEERS, Debian's PyTorch 1.13 with
# OpenBLAS into the system.  Whatever can't be had is said, and `make bench` does without it.
set -u
V=${PXL_PEERS:-build/peers}
missing=0
cannot() { echo "deps.sh: $1: the rows of that peer stay empty"; missing=1; }

/usr/bin/python3 -c 'import torch' 2> /dev/null ||
	apt-get install -y --no-install-recommends python3-torch libopenblas0-pthread ||
	cannot "Debian's python3-torch cannot be installed (no network, not root, or not Debian)"

if [ ! -x "$V/bin/python" ]; then
	python3 -m venv "$V" || { echo "deps.sh: no venv at $V: apt-get install python3-venv"; exit 1; }
fi
pip() { "$V/bin/python" -m pip install -q "$@"; }
have() { "$V/bin/python" -c "import $1" 2> /dev/null; }
# the wheel without CUDA is a tenth of PyPI's; its index is another host, which may not be in reach
have torch || pip torch --index-url https://download.pytorch.org/whl/cpu 2> /dev/null || pip torch ||
	cannot 'PyTorch cannot be had from download.pytorch.org nor from PyPI'
have jax || pip jax || cannot 'JAX cannot be had from PyPI'
"$V/bin/python" -c 'import setuptools' 2> /dev/null || pip setuptools || cannot 'torch.compile wants setuptools'
command -v g++ > /dev/null || cannot 'torch.compile wants g++'

for python in /usr/bin/python3 "$V/bin/python"; do
	for module in torch jax; do
		"$python" -c "import $module; print('$python: $module', $module.__version__)" 2> /dev/null
	done
done
exit $missing
