// Says beside a form what its rate would have cost in the last days.
const EFFECT_DELAY_MS = 500;

const effect = document.querySelector("[data-rate-effect]");
const form = effect.closest("form");
let timer;
let asked = 0;

async function showEffect() {
  const query = new URLSearchParams(new FormData(form));
  ["csrfmiddlewaretoken", "version"].forEach((name) => query.delete(name));
  query.set("effect", "1");
  const number = ++asked;
  effect.textContent = "Calculating …";
  const response = await fetch(`?${query}`).catch(() => null); // offline
  if (number !== asked) return; // changed meanwhile
  effect.textContent = response?.ok && !response.redirected ? (await response.json()).text : "";
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(showEffect, EFFECT_DELAY_MS);
});
if (!form.elements.namedItem("value")) showEffect(); // nothing to enter
