"""Who calls: bearer tokens, each of which stands for one principal.

Tokens come from the environment or from a file, never from the command line, where every user of the
machine could read them. Without tokens everybody is the same nameless principal, which is why a gateway
without them stays on loopback.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from servers.kernel.errors import HarnessError

TOKENS_VARIABLE = "PROVE_GATEWAY_TOKENS"
"""Environment variable with the gateway's tokens, as `name=token` pairs between commas."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TOKEN = re.compile(r"[!-~]{16,512}")
_FORM = "name=token, with a name of letters, digits, dots and dashes and a token of at least 16 characters"


class Principals:
    """The known tokens.

    Args:
        tokens: each principal's token; empty lets everybody in as the nameless principal.
    """

    def __init__(self, tokens: dict[str, str] | None = None) -> None:
        self._digests = [(name, _digest(token.encode())) for name, token in (tokens or {}).items()]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def identify(self, authorization: bytes | None) -> str | None:
        """The principal of an `Authorization` header; None for a wrong or missing token.

        Every known token is compared, in constant time, so the time taken tells nothing about them.
        """
        if not self._digests:
            return ""
        scheme, _, token = (authorization or b"").partition(b" ")
        given = _digest(token.strip())
        found = None
        for name, digest in self._digests:
            if compare_digest(given, digest):
                found = name
        return found if scheme.lower() == b"bearer" else None


def load_principals(file: Path | None) -> Principals:
    """The principals of a tokens file, or of the environment where there is no file.

    The file has one `name=token` a line; empty lines and lines that begin with # are skipped.

    Raises:
        HarnessError: the file can't be read, an entry has another form, or two share a name or a token.
    """
    if file is not None:
        try:
            entries = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise HarnessError(f"the tokens file {file} cannot be read: {error}") from None
        place = str(file)
    else:
        entries, place = os.environ.get(TOKENS_VARIABLE, "").split(","), TOKENS_VARIABLE
    tokens: dict[str, str] = {}
    for number, entry in enumerate((entry.strip() for entry in entries), start=1):
        if not entry or entry.startswith("#"):
            continue
        name, _, token = entry.partition("=")
        if not _NAME.fullmatch(name) or not _TOKEN.fullmatch(token):
            raise HarnessError(f"entry {number} of {place} is not of the form {_FORM}")
        if name in tokens or token in tokens.values():
            raise HarnessError(f"entry {number} of {place} repeats a name or a token: each principal has its own")
        tokens[name] = token
    if file is not None and not tokens:
        raise HarnessError(f"the tokens file {file} holds no token: write lines of the form {_FORM}")
    return Principals(tokens)


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()
