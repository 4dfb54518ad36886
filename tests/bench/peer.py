"""peer.py STEPS THREADS — the tutorial's network as PyTorch users write it: one SGD step at batch 8, timed in the process.

Prints one JSON object: median, p20 and p80 of a step in microseconds."""
import json, sys, time
import torch

steps, threads = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
torch.manual_seed(0)
layers, width = [], 784
for n in (512, 512, 512, 10):
    layers += [torch.nn.Linear(width, n), torch.nn.GELU()]
    width = n
net = torch.nn.Sequential(torch.nn.Flatten(), *layers[:-1])
sgd = torch.optim.SGD(net.parameters(), lr=0.05)
image, label = torch.randn(8, 28, 28), torch.randint(0, 2, (8,))


def step():
    sgd.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(image), label)
    loss.backward()
    sgd.step()
    return loss.item()


for _ in range(20):
    step()
us = []
for _ in range(steps):
    start = time.perf_counter()
    step()
    us.append((time.perf_counter() - start) * 1e6)
us.sort()
print(json.dumps({"us_median": us[len(us) // 2], "us_p20": us[len(us) // 5], "us_p80": us[len(us) * 4 // 5], "torch": torch.__version__}))
