"""rows.py — what `make bench` measures: the rows, the work each must do at least, and what is wanted of it."""
from collections import namedtuple

# goal: how many times as fast as the tuned PyTorch at one and at two threads; flops and bytes: what a step cannot do without
Row = namedtuple("Row", "family size model program sets goal flops bytes copies")

MNIST, CHAINS, GPT = "examples/mnist.pxl", "tests/bench/chains.pxl", "examples/gpt.pxl"
PERCEPTRON = [784 * 512, 512 * 512, 512 * 512, 512 * 10]
GPT_SIZES = dict(layers=4, width=256, heads=4, seq=128, vocab=256)


def train(batch, *goal):
    # forward, gradient of weights, gradient of inputs: but nobody reads the image's
    flops = 2 * batch * (3 * sum(PERCEPTRON) - PERCEPTRON[0])
    return Row("train", batch, MNIST, "train", [f"batch={batch}"], goal, flops, 0, False)


def test(batch, *goal):
    return Row("test", batch, MNIST, "test", [f"batch={batch}"], goal, 2 * batch * sum(PERCEPTRON), 4 * sum(PERCEPTRON), False)


def lenet(batch, *goal):
    first, rest = 28 * 28 * 32 * 9, 14 * 14 * 64 * 32 * 9 + 64 * 49 * 128 + 128 * 10
    return Row("lenet", batch, CHAINS, "lenet", [f"batch={batch}"], goal, 2 * batch * (2 * first + 3 * rest), 0, False)


def gpt(batch, *goal):
    g, tokens = GPT_SIZES, batch * GPT_SIZES["seq"]
    products = g["layers"] * 12 * g["width"] ** 2 + g["width"] * g["vocab"]
    scores = g["layers"] * g["seq"] * g["width"]              # two products of half a matrix of scores
    return Row("gpt", batch, GPT, "train", [f"batch={batch}"], goal, 6 * tokens * (products + scores), 0, False)


def chain(n, *goal):
    return Row("chain", n, CHAINS, "chain", [f"n={n}"], goal, 0, 12 * n, True)


def lines(family, rows, *goal):
    return Row(family, rows, CHAINS, family, [f"rows={rows}"], goal, 0, 8 * rows * 1024, True)


# A goal that was stated for one thread only is 1 at two: not slower than anyone.
ROWS = [train(8, 2.1, 2.5), train(32, 1.4, 1), train(128, 1.2, 1), train(512, 1.1, 1), test(1, 2, 2), test(80, 1.2, 1.2),
        lenet(8, 1.9, 1.9), lenet(64, 1.6, 1.6), gpt(4, 1.25, 1.25), chain(4096, 8, 8), chain(65536, 2.9, 2.9),
        chain(16777216, 2.7, 2.7), lines("soft", 4096, 1.8, 1.8), lines("norm", 4096, 2.6, 2.6)]
ABLATED = ["train 8", "lenet 8", "gpt 4", "chain 65536", "soft 4096"]


def name(row):
    return f"{row.family} {row.size}"


def chosen(names):
    return [r for r in ROWS if not names or name(r) in names or r.family in names]


def floor_us(row, machine, threads):
    """No step can be shorter: its multiply-adds at the machine's peak, or its bytes at the speed of the memory they fit."""
    at = threads - 1
    level = "l2" if row.bytes < 1 << 20 else "l3" if row.bytes < 24 << 20 else "dram"
    rate = machine[f"{level}_{'copy' if row.copies else 'read'}"][at]
    return max(row.flops / machine["gflops"][at], row.bytes / rate) / 1e3
