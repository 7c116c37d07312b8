"""Pseudo-random inputs of golden tests and the vectors that describe their results, without a file
of them: hashes of a name, a seed and a position (tests/golden/hashed.h is the same in C)."""
import numpy as np

PROJECTIONS = 8
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
MASK = (1 << 64) - 1


def name_hash(name):
    """Returns the FNV-1a hash of NAME."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def hashes(name, seed, count):
    """Returns SplitMix64's output for the first COUNT positions of a stream."""
    start = np.uint64((name_hash(name) + seed * 0xD1342543DE82EF95) & MASK)
    with np.errstate(over="ignore"):
        z = start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(name, seed, count, low, high):
    share = (hashes(name, seed, count) >> np.uint64(40)).astype(np.float64) / (1 << 24)
    return (low + (high - low) * share).astype(np.float32)


def products(name, tensor):
    """Returns the products of a tensor with PROJECTIONS vectors of +-1, which are hashes as
    well."""
    flat = tensor.reshape(-1).numpy()
    signs = hashes("projection " + name, 0, flat.size)
    return [float(np.where(signs >> np.uint64(63 - k) & np.uint64(1), flat, -flat).sum())
            for k in range(PROJECTIONS)]


def labelled_images(seed, count, side, classes):
    """Returns a classifier's batch in f64, normalised and with channels first, and its labels."""
    pixels = (hashes("image", seed, count * side * side * 3)
              >> np.uint64(56)).astype(np.float64) / 255
    images = (pixels.reshape(count, side, side, 3) - MEAN) / STD
    labels = (hashes("label", seed, count) % np.uint64(classes)).astype(np.int64)
    return images.transpose(0, 3, 1, 2).copy(), labels
