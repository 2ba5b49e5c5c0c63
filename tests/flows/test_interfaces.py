"""Prefect and MLflow as a person meets them: the nightly deployment, its runs and webhook, and pages in a browser.

The browser is Debian's Chromium through playwright; without either the tests of pages are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tests.flows.interfaces import Interfaces

CHROMIUM = Path("/usr/bin/chromium")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@contextmanager
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An address on loopback, and the bodies that were posted to it."""
    heard: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", heard
        server.shutdown()


HOLD = """
import time
import zc.lockfile
lock = zc.lockfile.LockFile(".dvc/tmp/lock")
print("held", flush=True)
time.sleep(300)
"""


def test_a_held_lock_is_waited_for_and_its_holder_named(interfaces: Interfaces) -> None:
    (interfaces.root / ".dvc" / "tmp").mkdir(exist_ok=True)
    command = [sys.executable, "-c", HOLD]
    holder = subprocess.Popen(command, cwd=interfaces.root, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    flow = [sys.executable, "-m", "flows.pipeline", "--until", "one"]
    told = []
    with subprocess.Popen(
        flow,
        cwd=interfaces.root,
        env=interfaces.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            told.append(line)
            if "waiting: " in line:
                holder.kill()
    holder.wait()
    waited = [line for line in told if "waiting: one: Unable to acquire lock" in line]
    assert waited and f"held by process {holder.pid} ({sys.executable} -c" in waited[0], "".join(told)
    assert running.returncode == 0, "".join(told)


SAVE_BLOCK = """
import sys
from prefect.blocks.notifications import CustomWebhookNotificationBlock
body = {"title": "{{subject}}", "text": "{{body}}"}
CustomWebhookNotificationBlock(name="Nightly", url=sys.argv[1], json_data=body).save("nightly", overwrite=True)
"""


def test_missed_nights_are_made_up_for_once_and_the_webhook_hears_of_it(interfaces: Interfaces) -> None:
    serve = ("flows.nightly", "serve", "--notify", "custom-webhook/nightly", "--tag", "prove")
    with interfaces.program(*serve, until="serving"):
        deployment = interfaces.ask("/deployments/name/nightly/nightly")
    assert deployment["schedules"][0]["schedule"]["cron"] == "0 3 * * *" and deployment["tags"] == ["prove"]
    assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    missed = []
    for days in (3, 2, 1):
        due = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        state = {"type": "SCHEDULED", "state_details": {"scheduled_time": due}}
        missed.append(interfaces.ask(f"/deployments/{deployment['id']}/create_flow_run", {"state": state})["id"])
    with webhook() as (address, heard):
        save = [sys.executable, "-c", SAVE_BLOCK, address]
        environment = {**interfaces.environment, "PREFECT_API_URL": f"{interfaces.prefect}/api"}
        subprocess.run(save, env=environment, cwd=interfaces.root, check=True, capture_output=True)
        with interfaces.program(*serve, until="2 missed runs cancelled"):
            states = [interfaces.ended(run) for run in missed]
    assert [state["type"] for state in states] == ["CANCELLED", "CANCELLED", "COMPLETED"], states
    assert [body["title"] for body in heard] == ["PROVE pipeline: up to date"]
    assert "two: ran" in heard[0]["text"]
    kept = list((interfaces.root / "reports" / "nightly").iterdir())
    assert [sorted(path.name for path in run.iterdir()) for run in kept] == [
        ["dvc.lock", "metrics", "params.yaml", "run.json"]
    ]
    keys = {artifact["key"] for artifact in interfaces.ask("/artifacts/filter", {})}
    assert "pipeline-stages" in keys


@contextmanager
def page(width: int, height: int) -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        try:
            opened = browser.new_page(viewport={"width": width, "height": height})
            opened.set_default_timeout(90_000)
            yield opened
        finally:
            browser.close()


def test_prefects_page_shows_the_schedule_and_a_finished_run(interfaces: Interfaces, tmp_path: Path) -> None:
    serve = interfaces.program("flows.nightly", "serve", "--until", "one", until="serving")
    with page(1280, 800) as view, serve:
        view.goto(f"{interfaces.prefect}/deployments")
        view.get_by_role("link", name="nightly").first.wait_for()
        deployment = interfaces.ask("/deployments/name/nightly/nightly")
        view.goto(f"{interfaces.prefect}/deployments/deployment/{deployment['id']}")
        view.get_by_role("button", name="Run", exact=True).click()
        view.get_by_text("Quick run").click()
        runs: list[dict[str, Any]] = []
        while not runs:
            found = interfaces.ask("/flow_runs/filter", {"deployments": {"id": {"any_": [deployment["id"]]}}})
            runs = [run for run in found if run["parameters"]["until"] == "one" and not run["auto_scheduled"]]
            time.sleep(1)
        ended = interfaces.ended(runs[0]["id"])
        assert ended["type"] == "COMPLETED", ended["message"]
        view.reload()
        view.get_by_text("At 03:00 AM every day").wait_for()
        view.get_by_text(runs[0]["name"]).first.wait_for()
        view.get_by_text("Completed").first.wait_for()
        view.screenshot(path=str(tmp_path / "prefect-nightly.png"))


TWO_RUNS = """
import math
from stages.tracking import Tracker
for rate in (0.1, 0.05):
    tracker = Tracker("train")
    tracker.log_params({"train": {"rate": rate}})
    for step in range(30):
        tracker.log_metrics({"grpo/reward": 1 - math.exp(-rate * step), "grpo/kl": rate * step / 100}, step)
    tracker.close("FINISHED")
"""


def test_mlflows_page_compares_the_curves_of_two_runs(interfaces: Interfaces, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TWO_RUNS]
    subprocess.run(command, env=interfaces.environment, cwd=interfaces.root, check=True, capture_output=True)
    url = f"{interfaces.mlflow}/ajax-api/2.0/mlflow/experiments/get-by-name?experiment_name={quote('prove/train')}"
    with urlopen(url, timeout=60) as answer:
        experiment = json.load(answer)["experiment"]["experiment_id"]
    with page(1500, 900) as view:
        view.goto(f"{interfaces.mlflow}/#/experiments/{experiment}/runs?compareRunsMode=CHART")
        view.get_by_text("2 matching runs").wait_for()
        view.get_by_text("grpo/reward").first.wait_for()
        view.get_by_placeholder("Search metric charts").fill("grpo")
        view.get_by_text("cost/seconds").first.wait_for(state="hidden")
        points = view.locator(".scatterlayer path.point")
        points.nth(119).wait_for(state="attached")
        beside_the_assistant = {"x": 0, "y": 0, "width": 1115, "height": 900}
        view.screenshot(path=str(tmp_path / "mlflow-compare.png"), clip=beside_the_assistant)
        assert view.inner_text("body").count("(grpo/reward)") == 2, "one curve for each run"
        assert points.count() == 120, "two metrics of two runs, thirty steps each"
