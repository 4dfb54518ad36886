"""peer.py ROW SIZE STEPS THREADS — a row of `make bench` as PyTorch users write it, timed in the process.

Prints one JSON object: median, p20 and p80 of a step in microseconds."""
import json, sys, time
import torch

row, size, steps, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
torch.manual_seed(0)
F = torch.nn.functional


def perceptron():
    layers, width = [torch.nn.Flatten()], 784
    for n in (512, 512, 512, 10):
        layers += [torch.nn.Linear(width, n), torch.nn.GELU()]
        width = n
    return torch.nn.Sequential(*layers[:-1])


def lenet():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10))


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        nn = torch.nn
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out, self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def mix(self, x):
        batch, seq, width = x.shape
        q, k, v = (t.view(batch, seq, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, -1))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            late = torch.full((seq, seq), -1e9).triu(1)
            y = torch.softmax(q @ k.transpose(2, 3) * q.shape[-1] ** -0.5 + late, -1) @ v
        return self.out(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(torch.nn.Module):
    def __init__(self, layers=4, width=256, heads=4, vocabulary=256, seq=128):
        super().__init__()
        self.embed, self.positions = torch.nn.Embedding(vocabulary, width), torch.nn.Parameter(torch.randn(seq, width) * 0.02)
        self.layers = torch.nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.layers(self.embed(tokens) + self.positions)))


def language():
    net, tokens = GPT(), torch.randint(0, 256, (size, 129))
    adam = torch.optim.Adam(net.parameters(), lr=0.001)

    def step():
        adam.zero_grad()
        loss = F.cross_entropy(net(tokens[:, :-1]).reshape(-1, 256), tokens[:, 1:].reshape(-1))
        loss.backward()
        adam.step()
        return loss.item()
    return step


def training(net, image):
    sgd, label = torch.optim.SGD(net.parameters(), lr=0.05), torch.randint(0, 2, (size,))

    def step():
        sgd.zero_grad()
        loss = F.cross_entropy(net(image), label)
        loss.backward()
        sgd.step()
        return loss.item()
    return step


def inference(net, image):
    def step():
        with torch.no_grad():
            return (net(image).argmax(1) == 0).sum().item()
    return step


def plain(f):
    def step():
        with torch.no_grad():
            return f()
    return step


if row == "train":
    step = training(perceptron(), torch.randn(size, 28, 28))
elif row == "test":
    step = inference(perceptron(), torch.randn(size, 28, 28))
elif row == "lenet":
    step = training(lenet(), torch.randn(size, 1, 28, 28))
elif row == "gpt":
    step = language()
elif row == "chain":
    x, a = torch.randn(size), torch.rand(size)
    step = plain(lambda: F.gelu(x * a + 0.5) * 2.0 + x)
elif row == "soft":
    x = torch.randn(size, 1024)
    step = plain(lambda: torch.softmax(x, -1))
else:
    x, norm = torch.randn(size, 1024), torch.nn.LayerNorm(1024)
    step = plain(lambda: norm(x))

for _ in range(max(3, min(20, steps // 5))):
    step()
us = []
for _ in range(steps):
    start = time.perf_counter()
    step()
    us.append((time.perf_counter() - start) * 1e6)
us.sort()
print(json.dumps({"us_median": us[len(us) // 2], "us_p20": us[len(us) // 5], "us_p80": us[len(us) * 4 // 5], "torch": torch.__version__}))
