"""peer.py eager|compile THREADS — the rows of `make bench` as PyTorch users write them, in one process that stays. What it is asked: worker.py."""
import sys
import torch
from worker import serve

F, nn = torch.nn.functional, torch.nn
compiling, threads = sys.argv[1] == "compile", int(sys.argv[2])
torch.set_num_threads(threads)
current = hasattr(torch, "compile")
translate = torch.compile if compiling else lambda f: f


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3, self.fc4 = nn.Linear(784, 512), nn.Linear(512, 512), nn.Linear(512, 512), nn.Linear(512, 10)

    def forward(self, image):
        x = image.flatten(1)
        for layer in (self.fc1, self.fc2, self.fc3):
            x = F.gelu(layer(x), approximate="tanh")
        return self.fc4(x)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
        self.f1, self.f2 = nn.Linear(64 * 49, 128), nn.Linear(128, 10)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.c1(image)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.f2(F.relu(self.f1(x.flatten(1))))


class SelfAttention(nn.Module):
    def __init__(self, width, heads, seq):
        super().__init__()
        self.late = torch.full((seq, seq), -1e9).triu(1)      # where there is no op for attention
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if current:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.late, -1) @ v
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, seq):
        super().__init__()
        self.norm1, self.norm2, self.mix = nn.LayerNorm(width), nn.LayerNorm(width), SelfAttention(width, heads, seq)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, layers, width, heads, seq, vocab):
        super().__init__()
        self.embed, self.positions = nn.Embedding(vocab, width), nn.Parameter(torch.randn(seq, width) * 0.02)
        self.layers = layers
        for i in range(layers):
            setattr(self, f"layer{i}", Block(width, heads, seq))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens) + self.positions
        for i in range(self.layers):
            x = getattr(self, f"layer{i}")(x)
        return self.head(self.norm(x)).flatten(0, 1)


def optimizer(kind, net, **options):
    """the fastest form that this PyTorch has for the CPU"""
    try:
        return kind(net.parameters(), fused=True, **options)
    except (RuntimeError, TypeError):
        return kind(net.parameters(), **options)


class Training:
    def __init__(self, net, kind, inputs, **options):
        self.net, self.inputs = net, inputs
        self.optimizer = optimizer(kind, net, **options)
        self.loss = translate(lambda x, label: F.cross_entropy(net(x), label))

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(*self.inputs)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def outputs(self):
        """losses of two steps; before them one that changes no weight, as pxl took when it saved what its optimiser keeps"""
        group, = self.optimizer.param_groups
        rate, group["lr"] = group["lr"], 0.0
        self.step()
        group["lr"] = rate
        return [self.step(), self.step()]

    def load(self, weights, inputs):
        self.inputs = [tensor(inputs["image"]), tensor(inputs["label"]).long()]
        self.begin(weights)

    def begin(self, weights):
        load_net(self.net, weights)
        self.optimizer.state.clear()            # of steps taken before


class Tokens(Training):
    def load(self, weights, inputs):
        tokens = tensor(inputs["tokens"]).long()
        self.inputs = [tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()]
        self.begin(weights)


class Inference:
    def __init__(self, net, image, label):
        self.net, self.inputs = net.eval(), (image, label)
        self.hits = translate(lambda image, label: (net(image).argmax(1) == label).sum())

    def step(self):
        with torch.inference_mode():
            return self.hits(*self.inputs).item()

    def outputs(self):
        return [self.step()]

    def load(self, weights, inputs):
        self.inputs = [tensor(inputs["image"]), tensor(inputs["label"]).long()]
        load_net(self.net, weights)


class Plain:
    """one function of tensors"""
    def __init__(self, f, *inputs):
        self.f, self.inputs = translate(f), list(inputs)

    def step(self):
        with torch.inference_mode():
            return self.f(*self.inputs)

    def outputs(self):
        return [self.step()]

    def load(self, weights, inputs):
        self.inputs[0] = tensor(inputs["x"])
        if "a" in weights:
            self.inputs[1] = tensor(weights["a"])


def tensor(shaped):
    shape, numbers = shaped
    kind = torch.float32 if numbers.typecode == "f" else torch.int32
    return torch.frombuffer(numbers, dtype=kind).reshape(shape).clone()


def load_net(net, weights):
    linear = {id(m.weight) for m in net.modules() if isinstance(m, nn.Linear)}      # stored the other way round
    with torch.no_grad():
        for name, p in net.named_parameters():
            w = tensor(weights[name])
            p.copy_(w.t() if id(p) in linear else w.reshape(p.shape))


def make(row, size):
    label = torch.randint(0, 2, (size,)) if size < 1e6 else None
    if row == "train":
        return Training(Perceptron(), torch.optim.SGD, (torch.randn(size, 28, 28), label), lr=0.05)
    if row == "test":
        return Inference(Perceptron(), torch.randn(size, 28, 28), label)
    if row == "lenet":
        return Training(LeNet(), torch.optim.SGD, (torch.randn(size, 1, 28, 28), label), lr=0.05)
    if row == "gpt":
        tokens = torch.randint(0, 2, (size, 128))
        return Tokens(GPT(4, 256, 4, 128, 256), torch.optim.Adam, (tokens, tokens.flatten()), lr=0.001)
    if row == "chain":
        return Plain(lambda x, a: F.gelu(x * a + 0.5, approximate="tanh") * 2.0 + x, torch.randn(size), torch.rand(size))
    if row == "soft":
        return Plain(lambda x: torch.softmax(x, -1), torch.randn(size, 1024))
    return Plain(nn.LayerNorm(1024), torch.randn(size, 1024))


def difference(got, want):
    """the largest, against the largest wanted"""
    if isinstance(got, torch.Tensor):
        want = torch.frombuffer(want, dtype=torch.float32)
        return ((got.flatten() - want).abs().max() / want.abs().max().clamp(min=1e-9)).item()
    return abs(got - want[0]) / max(abs(want[0]), 1e-9)


serve(make, difference, torch.__version__)
