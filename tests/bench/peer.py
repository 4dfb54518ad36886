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
