// Zoom and pan: one translation and one scale for the whole drawing.
const FAR = 0.5;  // below this scale names of tools can't be read

function camera(canvas, content) {
  let x = 0, y = 0, scale = 1;

  function apply() {
    content.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
    canvas.classList.toggle("far", scale < FAR);
  }

  function zoom(factor, px = canvas.clientWidth / 2, py = canvas.clientHeight / 2) {
    const next = Math.min(4, Math.max(0.05, scale * factor));
    x = px - (px - x) * next / scale;
    y = py - (py - y) * next / scale;
    scale = next;
    apply();
  }

  function fit(box) {
    const top = 56, margin = 24;
    scale = Math.min(1.4, (canvas.clientWidth - 2 * margin) / box.width, (canvas.clientHeight - top - margin) / box.height);
    x = (canvas.clientWidth - box.width * scale) / 2 - box.x * scale;
    y = top + (canvas.clientHeight - top - margin - box.height * scale) / 2 - box.y * scale;
    apply();
  }

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const bounds = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - bounds.left, event.clientY - bounds.top);
  }, { passive: false });

  let from = null;
  canvas.addEventListener("pointerdown", (event) => { from = { px: event.clientX, py: event.clientY, x, y, id: event.pointerId }; });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const dx = event.clientX - from.px, dy = event.clientY - from.py;
    if (Math.abs(dx) + Math.abs(dy) < 4) return;
    canvas.setPointerCapture(from.id);
    canvas.classList.add("dragged");
    x = from.x + dx;
    y = from.y + dy;
    apply();
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { from = null; canvas.classList.remove("dragged"); });
  return { zoom, fit };
}
