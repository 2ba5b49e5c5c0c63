"""Every tool of every server, called with arguments drawn from its schema and from live state, good and bad.

    python -m tests.bench.fuzz_tools --calls 200000
    python -m tests.bench.fuzz_tools --server banking --walk 37     # one walk again, as a finding names it

Walks (sessions of fifty calls) are numbered; `--from-walk` goes on where an earlier command stopped. What is checked
after each call and each walk stands in `tests/fuzz/tool_walk.py`. Prints calls, successes and the slowest call of
each server, the codes of all refusals and the peak of memory; exits with 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter

from servers.kernel.catalog import load_catalog
from tests.fuzz.tool_walk import CALLS_OF_A_WALK, Tally, walk_server

SHOWN_CODES = 20
SHOWN_FINDINGS = 3


def main() -> int:
    """Walk over the servers, then say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000, help="in all, shared by numbers of tools (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--server", default="", help="only this server")
    parser.add_argument("--from-walk", type=int, default=0, help="number of the first walk of each server")
    parser.add_argument("--walk", type=int, help="only the walk of this number")
    arguments = parser.parse_args()
    catalog = load_catalog((arguments.server,) if arguments.server else ())
    total, begin = Tally(), time.monotonic()
    print(f"{'server':<16}{'walks':>12}{'calls':>9}{'ok':>7}{'tools':>9}   slowest call")
    for server in catalog.servers.values():
        share = arguments.calls * len(server.tools) / len(catalog.entries)
        first, last = arguments.from_walk, arguments.from_walk + max(1, round(share / CALLS_OF_A_WALK))
        if arguments.walk is not None:
            first, last = arguments.walk, arguments.walk + 1
        tally = Tally()
        for number in range(first, last):
            tally.add(walk_server(server.name, number, arguments.seed))
        tools = f"{len(tally.tools)}/{len(server.tools)}"
        slowest = f"{tally.slowest[0] * 1000:.0f} ms {tally.slowest[1][:90]}"
        numbers = f"{first}-{last - 1}"
        print(f"{server.name:<16}{numbers:>12}{tally.calls:>9}{tally.ok / tally.calls:>7.0%}{tools:>9}   {slowest}")
        total.add(tally)
    took = time.monotonic() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{total.calls} calls in {took:.0f} s ({total.calls / took:,.0f}/s), peak memory {memory:.0f} MB")
    print(f"{len(total.codes)} outcomes:")
    for code, count in total.codes.most_common(SHOWN_CODES):
        print(f"  {count / total.calls:6.2%} {code}")
    return _tell(total)


def _tell(total: Tally) -> int:
    """Print findings, a few of each kind, and return the exit code."""
    told: Counter[tuple[str, str]] = Counter()
    for finding in total.findings:
        kind = (finding.tool, finding.what[:60])
        told[kind] += 1
        if told[kind] <= SHOWN_FINDINGS:
            print(finding)
    for (tool, what), count in told.items():
        print(f"{count:6d} times {tool}: {what}")
    print("no promise was broken" if not told else f"{len(told)} promises were broken")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
