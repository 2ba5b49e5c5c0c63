"""The official prompt texts, read from the package's source files without running them.

Importing the modules that hold them would start LiteLLM and change its settings for the whole process.
Only string literals are taken.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Prompts:
    """The texts around a domain's policy.

    `agent` and `solo` are templates of the system prompt with their instruction filled in; `user` is the
    template of the simulated user's; `greeting` opens a conversation; `done` describes the solo stop tool.
    """

    agent: str
    solo: str
    user: str
    greeting: str
    done: str

    def for_agent(self, policy: str) -> str:
        """The system prompt of an agent that talks to a user."""
        return self.agent.replace("{domain_policy}", policy)

    def for_solo(self, policy: str, ticket: str) -> str:
        """The system prompt of an agent that solves a ticket alone."""
        return self.solo.replace("{domain_policy}", policy).replace("{ticket}", ticket)

    def for_user(self, guidelines: str, scenario: str) -> str:
        """The system prompt of whoever plays the user."""
        return self.user.replace("{global_user_sim_guidelines}", guidelines).replace("{instructions}", scenario)


def read_prompts(package: Path, stop_tool: str) -> Prompts:
    """Take the texts from the package's directory.

    Raises:
        ValueError: a text is not where this version has it.
    """
    agent = _tree(package / "agent" / "llm_agent.py")
    user = _tree(package / "user" / "user_simulator.py")
    orchestrator = _tree(package / "orchestrator" / "orchestrator.py")
    solo = _text(agent, "AGENT_SOLO_INSTRUCTION").replace("{stop_function_name}", stop_tool)
    return Prompts(
        agent=_text(agent, "SYSTEM_PROMPT").replace("{agent_instruction}", _text(agent, "AGENT_INSTRUCTION")),
        solo=_text(agent, "SYSTEM_PROMPT_SOLO").replace("{agent_instruction}", solo),
        user=_text(user, "SYSTEM_PROMPT"),
        greeting=_greeting(orchestrator),
        done=_docstring(agent, stop_tool),
    )


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _assigned(tree: ast.Module, name: str) -> ast.expr:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.value
    raise ValueError(f"the package has no text {name}: install the version that the adapter names")


def _text(tree: ast.Module, name: str) -> str:
    for node in ast.walk(_assigned(tree, name)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value.strip()
    raise ValueError(f"{name} is no text in this package: install the version that the adapter names")


def _greeting(tree: ast.Module) -> str:
    name = "DEFAULT_FIRST_AGENT_MESSAGE"
    call = _assigned(tree, name)
    keywords = call.keywords if isinstance(call, ast.Call) else []
    for keyword in keywords:
        if keyword.arg == "content" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    raise ValueError(f"{name} has no content in this package: install the version that the adapter names")


def _docstring(tree: ast.Module, function: str) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return ast.get_docstring(node) or ""
    raise ValueError(f"the package has no function {function}: install the version that the adapter names")
