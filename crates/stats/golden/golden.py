#!/usr/bin/env python3
"""Golden values for the tests of crate stats, from SciPy: an implementation that is not ours.

    python3 golden.py > golden.json

Made with SciPy 1.17. Seeds are fixed; running it again gives the same file.
"""

import json
import math

import numpy
from scipy import integrate, special, stats

random = numpy.random.default_rng(20261121)


def ranks():
    """l: largest with P(B <= l-1) <= a/2. u: smallest with P(B >= u) <= a/2."""
    cases = []
    for confidence in (0.9, 0.95, 0.99):
        for q in (0.1, 0.5, 0.9, 0.99, 0.999, 0.99999):
            for n in (1, 5, 6, 35, 36, 100, 367, 368, 1000, 3688, 36888, 1_000_000, 100_000_000):
                tail = (1 - confidence) / 2
                binomial = stats.binom(n, q)
                low = int(binomial.ppf(tail))
                while low >= 1 and binomial.cdf(low - 1) > tail:
                    low -= 1
                while binomial.cdf(low) <= tail:
                    low += 1
                high = int(binomial.isf(tail)) + 1
                while high >= 1 and binomial.sf(high - 2) <= tail:
                    high -= 1
                while binomial.sf(high - 1) > tail:
                    high += 1
                cases.append({
                    "n": n, "q": q, "confidence": confidence,
                    "low": low if low >= 1 else None,
                    "high": high if high <= n else None,
                })
    return cases


def dispersion():
    cases = []
    for k, q, spread in ((2, 0.5, 0.1), (6, 0.9, 0.05), (30, 0.99, 0.02), (12, 0.9, 0.2)):
        batches = []
        for _ in range(k):
            count = int(random.integers(50, 500))
            share = min(0.999, max(0.001, q + spread * random.standard_normal()))
            batches.append([count, int(random.binomial(count, share))])
        table = numpy.array([[below, count - below] for count, below in batches])
        found = stats.chi2_contingency(table, correction=False)
        cases.append({"batches": batches, "inflation": max(1.0, found.statistic / (k - 1))})
    return cases


def series():
    yield [float(x) for x in random.standard_normal(10)]
    yield [float(x) for x in random.standard_normal(30)]
    yield [float(x + i / 20) for i, x in enumerate(random.standard_normal(40))]
    yield [float(x) for x in random.standard_normal(41)]
    yield [float(x + i / 50) for i, x in enumerate(random.standard_normal(100))]
    yield [float(x) for x in random.integers(0, 5, 25)]
    yield [float(x) for x in range(12)]


def mann_kendall():
    cases = []
    for one in series():
        n = len(one)
        s = sum(int(numpy.sign(one[j] - one[i])) for i in range(n) for j in range(i + 1, n))
        tied = len(set(one)) < n
        if not tied and n <= 40:
            p = stats.kendalltau(range(n), one, method="exact").pvalue
        else:
            sizes = [c for c in numpy.unique(one, return_counts=True)[1] if c > 1]
            cubic = lambda t: t * (t - 1) * (2 * t + 5)
            variance = (cubic(n) - sum(cubic(int(t)) for t in sizes)) / 18
            p = 2 * stats.norm.sf(max(abs(s) - 1, 0) / math.sqrt(variance))
        slope = stats.theilslopes(one).slope
        cases.append({"series": one, "p": min(1.0, float(p)), "slope": float(slope)})
    return cases


def mann_whitney():
    cases = []
    for one in series():
        a, b = one[: len(one) // 2], one[len(one) // 2:]
        exact = len(set(one)) == len(one) and len(one) <= 40
        found = stats.mannwhitneyu(a, b, method="exact" if exact else "asymptotic")
        cases.append({"a": a, "b": b, "p": float(found.pvalue)})
    return cases


def anderson_darling():
    cases = []
    for n, scale in ((5, 1.0), (50, 1.0), (500, 1.0), (100, 0.5)):
        gaps = [float(x) for x in random.exponential(scale, n)]
        u = numpy.sort(stats.expon.cdf(gaps))
        i = numpy.arange(1, n + 1)
        sum_ = numpy.sum((2 * i - 1) * (numpy.log(u) + stats.expon.logsf(numpy.sort(gaps))[::-1]))
        cases.append({"gaps": gaps, "statistic": float(-n - sum_ / n)})
    return cases


def anderson_darling_p():
    """1 - F(z) by Anderson and Darling's series of 1954."""
    cases = []
    for z in (0.2, 0.5, 1.0, 1.933, 2.0, 2.492, 3.0, 3.857, 5.0, 6.0, 7.0, 8.0, 10.0):
        total = 0.0
        for j in range(40):
            c = (4 * j + 1) ** 2 * math.pi**2 / 8
            f = lambda w: math.exp(z / (8 * (w * w + 1)) - c * w * w / z)
            value = integrate.quad(f, 0, numpy.inf, epsabs=1e-14, epsrel=1e-13, limit=400)[0]
            term = special.binom(-0.5, j) * (4 * j + 1) * math.exp(-c / z) * value
            total += term
            if abs(term) < 1e-18:
                break
        cases.append({"statistic": z, "p": 1 - math.sqrt(2 * math.pi) / z * total})
    return cases


def two_sets():
    yield random.normal(10, 1, 12), random.normal(11, 1, 12)
    yield random.lognormal(0, 0.5, 15), random.lognormal(0.3, 0.5, 20)
    yield random.normal(5, 0.1, 30), random.normal(5, 0.2, 30)


def bootstrap():
    cases = []
    contrasts = {
        "difference": lambda a, b, axis=-1: numpy.median(b, axis=axis) - numpy.median(a, axis=axis),
        "ratio": lambda a, b, axis=-1: numpy.median(b, axis=axis) / numpy.median(a, axis=axis),
    }
    for a, b in two_sets():
        for name, contrast in contrasts.items():
            case = {
                "a": [float(x) for x in a], "b": [float(x) for x in b],
                "contrast": name, "estimate": float(contrast(a, b)),
            }
            for method, key in (("percentile", "percentile"), ("BCa", "bca")):
                found = stats.bootstrap(
                    (a, b), contrast, vectorized=True, n_resamples=100_000, method=method,
                    confidence_level=0.95, rng=numpy.random.default_rng(1), batch=1000,
                )
                interval = found.confidence_interval
                case[key] = [float(interval.low), float(interval.high)]
            cases.append(case)
    return cases


def bca_levels():
    cases = []
    for bias in (-0.5, 0.0, 0.2):
        for acceleration in (-0.05, 0.0, 0.1):
            for tail in (0.025, 0.05):
                z = stats.norm.ppf(tail)
                level = lambda z: float(stats.norm.cdf(
                    bias + (bias + z) / (1 - acceleration * (bias + z))))
                cases.append({"bias": bias, "acceleration": acceleration, "tail": tail,
                              "low": level(z), "high": level(-z)})
    return cases


def effects():
    cases = []
    for a, b in two_sets():
        u = stats.mannwhitneyu(b, a).statistic
        cases.append({
            "a": [float(x) for x in a], "b": [float(x) for x in b],
            "cliffs_delta": float(2 * u / (len(a) * len(b)) - 1),
            "hodges_lehmann": float(numpy.median(numpy.subtract.outer(b, a))),
        })
    return cases


def student():
    """Means of two sets, each as scattered: Student's test."""
    cases = []
    for a, b in two_sets():
        found = stats.ttest_ind(a, b, equal_var=True)
        cases.append({"a": [float(x) for x in a], "b": [float(x) for x in b],
                      "p": float(found.pvalue)})
    return cases


makers = (ranks, dispersion, mann_kendall, mann_whitney, anderson_darling, anderson_darling_p,
          bootstrap, bca_levels, effects, student)
print(json.dumps({maker.__name__: maker() for maker in makers}, indent=1))
