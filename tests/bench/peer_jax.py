"""peer_jax.py jit THREADS — the rows of `make bench` that JAX users write alike; the same questions as of peer.py: worker.py."""
import os, sys

threads = int(sys.argv[2])
os.environ["JAX_PLATFORMS"] = "cpu"
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])      # how many threads XLA has is how many processors it sees
import jax, jax.numpy as jnp, numpy as np
from worker import serve

SIZES = [(784, 512), (512, 512), (512, 512), (512, 10)]
draw = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(draw.normal(0, 0.02, shape), jnp.float32)


def array(shaped):
    return jnp.asarray(np.array(shaped[1]).reshape(shaped[0]))


def perceptron(w, image):
    x = image.reshape(image.shape[0], -1)
    for i in range(1, 5):
        x = x @ w[f"fc{i}.weight"] + w[f"fc{i}.bias"]
        x = jax.nn.gelu(x) if i < 4 else x
    return x


def lenet(w, image):
    def conv(x, k):
        x = jax.lax.conv_general_dilated(x, w[k + ".weight"], (1, 1), "SAME") + w[k + ".bias"].reshape(1, -1, 1, 1)
        return jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = conv(conv(image, "c1"), "c2").reshape(image.shape[0], -1)
    return jax.nn.relu(x @ w["f1.weight"] + w["f1.bias"]) @ w["f2.weight"] + w["f2.bias"]


def cross_entropy(scores, label):
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), label[:, None], 1).mean()


class Training:
    def __init__(self, net, weights, image, label):
        self.weights, self.inputs = weights, (image, label)

        def update(w, image, label):
            loss, g = jax.value_and_grad(lambda w: cross_entropy(net(w, image), label))(w)
            return jax.tree.map(lambda a, b: a - 0.05 * b, w, g), loss
        self.update = jax.jit(update, donate_argnums=0)

    def step(self):
        self.weights, loss = self.update(self.weights, *self.inputs)
        return float(loss)

    def outputs(self):
        return [self.step(), self.step()]

    def load(self, weights, inputs):
        self.weights = {n: array(w) for n, w in weights.items()}
        self.inputs = array(inputs["image"]), array(inputs["label"])


class Inference(Training):
    def __init__(self, net, weights, image, label):
        self.weights, self.inputs = weights, (image, label)
        self.hits = jax.jit(lambda w, image, label: (jnp.argmax(net(w, image), 1) == label).sum())

    def step(self):
        return int(self.hits(self.weights, *self.inputs))

    def outputs(self):
        return [self.step()]


class Plain:
    def __init__(self, f, *inputs):
        self.f, self.inputs = jax.jit(f), list(inputs)

    def step(self):
        return self.f(*self.inputs).block_until_ready()

    def outputs(self):
        return [self.step()]

    def load(self, weights, inputs):
        self.inputs[0] = array(inputs["x"])
        if "a" in weights:
            self.inputs[1] = array(weights["a"])


def norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias


def make(row, size):
    label = jnp.asarray(draw.integers(0, 2, size if size < 1e6 else 1), jnp.int32)
    if row in ("train", "test"):
        weights = {f"fc{i + 1}.{n}": normal(*s) if n == "weight" else jnp.zeros(s[1]) for i, s in enumerate(SIZES) for n in ("weight", "bias")}
        return (Training if row == "train" else Inference)(perceptron, weights, normal(size, 28, 28), label)
    if row == "lenet":
        shapes = {"c1": (32, 1, 3, 3), "c2": (64, 32, 3, 3), "f1": (3136, 128), "f2": (128, 10)}
        weights = {f"{k}.weight": normal(*s) for k, s in shapes.items()}
        weights.update({"c1.bias": normal(32), "c2.bias": normal(64), "f1.bias": normal(128), "f2.bias": normal(10)})
        return Training(lenet, weights, normal(size, 1, 28, 28), label)
    if row == "chain":
        return Plain(lambda x, a: jax.nn.gelu(x * a + 0.5) * 2.0 + x, normal(size), normal(size))
    if row == "soft":
        return Plain(lambda x: jax.nn.softmax(x, -1), normal(size, 1024))
    if row == "norm":
        return Plain(norm, normal(size, 1024), jnp.ones(1024), jnp.zeros(1024))
    raise ValueError(row)


def difference(got, want):
    want, got = np.array(want), np.asarray(got).reshape(-1)
    return float(np.abs(got - want).max() / max(np.abs(want).max(), 1e-9))


serve(make, difference, jax.__version__)
