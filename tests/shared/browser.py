"""Pages in headless Chromium: what a script finds in them, and what axe-core says of them."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from built import Once
from PIL import Image

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
DARK = "--blink-settings=preferredColorScheme=0"


def run_in_page(page: str, script: str, folder: Path, *flags: str) -> dict[str, object]:
    """Open the text of a page in a frame, and hand back the object that a script returns.

    The script is the body of an asynchronous function of `document`, `window` and `frame`; flags are Chromium's.
    """
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "harness.html").write_text(
        """<!DOCTYPE html><meta charset="utf-8"><pre></pre><script>
        async function check(document, window, frame) {"""
        + script
        + """}
        const frame = document.createElement("iframe");
        frame.onload = async () => {
          let found;
          try { found = await check(frame.contentDocument, frame.contentWindow, frame); }
          catch (error) { found = {error: String(error)}; }
          document.querySelector("pre").textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
        };
        frame.style = "border: 0; height: 800px; width: 1400px";
        frame.src = "page.html";
        document.body.append(frame);
        </script>""",
        encoding="utf-8",
    )
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", *flags]
    options += [f"--user-data-dir={folder}/profile", "--allow-file-access-from-files"]
    options += ["--virtual-time-budget=20000", "--dump-dom"]
    command = [CHROMIUM, *options, (folder / "harness.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (coded,) = re.findall(r"<pre>(.+?)</pre>", done.stdout, re.DOTALL)
    decoded = subprocess.run(["base64", "-d"], input=coded, capture_output=True, text=True, check=True)
    found = json.loads(decoded.stdout)
    assert "error" not in found, found
    return found


def screenshots(folder: Path, shown: Sequence[tuple[str, int, int]], *flags: str) -> list[Image.Image]:
    """Returns pictures of pages of a folder, each by its file, its width and its height in pixels."""
    frames = [
        f'<iframe src="{file}" style="border:0;float:left" width="{width}" height="{height}"></iframe>'
        for file, width, height in shown
    ]
    beside, shot = folder / "beside.html", folder / "beside.png"
    size = sum(width for _, width, _ in shown), max(height for *_, height in shown)
    body = f'<body style="margin:0;width:{size[0]}px">{"".join(frames)}</body>'
    beside.write_text(f'<!DOCTYPE html><meta charset="utf-8">{body}', encoding="utf-8")
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *flags]
    options += [f"--user-data-dir={folder}/profile", "--allow-file-access-from-files"]
    options += ["--virtual-time-budget=5000", f"--window-size={size[0]},{size[1]}"]
    command = [CHROMIUM, *options, f"--screenshot={shot}", beside.as_uri()]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    pictures, left = [], 0
    with Image.open(shot) as picture:
        for _, width, height in shown:
            pictures.append(picture.crop((left, 0, left + width, height)))
            left += width
    return pictures


@pytest.fixture(scope="session")
def axe(once: Once) -> str:
    """The script of axe-core 4, installed by npm; the test is skipped, and says so, where that fails."""
    return (once("axe", _install_axe) / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def _install_axe(folder: Path) -> None:
    if not (npm := shutil.which("npm")):
        pytest.skip("accessibility was NOT checked: npm is not installed")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        told = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        pytest.skip(f"accessibility was NOT checked: npm cannot install axe-core: {told}")


def violations(page: str, axe: str, folder: Path, *flags: str) -> list[object]:
    """Returns what axe-core finds serious or critical in a page: the rule and the elements.

    The page's policy would forbid axe-core's script, so the page is opened without it.
    """
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert bare != page
    script = """
      const found = await window.axe.run(document, {resultTypes: ["violations"]});
      return {checked: found.passes.length, grave: found.violations
        .filter((each) => ["serious", "critical"].includes(each.impact))
        .map((each) => [each.id, each.nodes.length, ...each.nodes.slice(0, 3).map((node) => node.html)])};
    """
    found = run_in_page(bare.replace("</body>", f"<script>{axe}</script></body>"), script, folder, *flags)
    assert found["checked"], "axe-core checked nothing"
    grave = found["grave"]
    assert isinstance(grave, list)
    return grave
