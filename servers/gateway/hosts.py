"""Which names the gateway answers to: the defence against DNS rebinding and against pages of other sites.

A browser that was led to `http://evil.example` and finds this machine behind that name still sends that
name as its `Host`, and sends the page's own site as `Origin`. Both must name this gateway.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from servers.kernel.errors import HarnessError

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])")
_AUTHORITY = re.compile(r"([^:\[\]]+|\[[^\[\]]+\])(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


class Hosts:
    """The names that are served, at any port.

    Args:
        names: names beside those of loopback.

    Raises:
        HarnessError: a name is no host name.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = {*_LOOPBACK, *(name.lower() for name in names)}
        for name in self._names:
            if not _HOST.fullmatch(name):
                raise HarnessError(f"{name!r} is no host name: give one like gateway.example, without scheme and port")

    def serves(self, authority: str) -> bool:
        """Whether a `Host` header names this gateway."""
        match = _AUTHORITY.fullmatch(authority)
        return match is not None and match[1].lower() in self._names

    def trusts(self, origin: str) -> bool:
        """Whether an `Origin` header is of a page that this gateway's own names serve."""
        match = _ORIGIN.fullmatch(origin)
        return match is not None and self.serves(match[1])


def hosts_for(bind: str, allowed: Iterable[str], has_tokens: bool) -> Hosts:
    """The names to serve at an address, once it is safe to bind it.

    Raises:
        HarnessError: the address is open to other machines and has no tokens, or no name to be called by.
    """
    names = list(allowed)
    if not is_loopback(bind):
        if not has_tokens:
            raise HarnessError(
                f"{bind} can be reached from other machines, and without tokens anybody there could use it: "
                "give --tokens FILE (or PROVE_GATEWAY_TOKENS), or bind 127.0.0.1"
            )
        if not names and bind in ("0.0.0.0", "::", ""):  # refused, not bound
            raise HarnessError(f"{bind} has no name of its own: name the hosts that clients call, with --allowed-host")
        if bind not in ("0.0.0.0", "::", ""):
            names.append(f"[{bind}]" if ":" in bind else bind)
    return Hosts(names)


def is_loopback(bind: str) -> bool:
    """Whether only this machine can reach the address."""
    if bind == "localhost":
        return True
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return False
