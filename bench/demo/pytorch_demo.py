# The demo network in PyTorch — images per second of the convnet that Millrace's demo trains, channels last.
import argparse
import sys
import time

p = argparse.ArgumentParser()
p.add_argument("--threads", type=int, default=1)
p.add_argument("--batch", type=int, default=64)
p.add_argument("--steps", type=int, default=60)
p.add_argument("--compile", action="store_true", help="torch.compile the step (slow to start)")
args = p.parse_args()
try:
    import torch
except ImportError:
    sys.exit("pytorch: not installed, nothing measured (pip install torch)")
from torch import nn

torch.set_num_threads(args.threads)
torch.manual_seed(1)


class Flatten(nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0], -1)


network = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
    nn.MaxPool2d(2), Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))
network = network.to(memory_format=torch.channels_last)
x = torch.rand(args.batch, 1, 28, 28).to(memory_format=torch.channels_last)
labels = torch.randint(0, 10, (args.batch,))
loss = nn.CrossEntropyLoss()
adam = torch.optim.Adam(network.parameters(), 1e-3)


def step():
    adam.zero_grad(set_to_none=True)
    value = loss(network(x), labels)
    value.backward()
    adam.step()
    return value


if args.compile:
    step = torch.compile(step)
rates = []
for i in range(args.steps + 10):
    begin = time.perf_counter()
    step().item()
    rates.append(args.batch / (time.perf_counter() - begin))
rates = sorted(rates[10:])
print("pytorch %s threads=%d: %.0f images/s (median step)" % (torch.__version__, args.threads, rates[len(rates) // 2]))
