// Filters by an affiliate: offers those whose name, e-mail or code has what was typed.
const SUGGESTION_DELAY_MS = 200;

document.addEventListener("DOMContentLoaded", () => {
  for (const input of document.querySelectorAll("input[data-suggestions]")) {
    let timer;
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const query = new URLSearchParams({ q: input.value });
        const response = await fetch(`${input.dataset.suggestions}?${query}`).catch(() => null); // offline
        if (!response?.ok || response.redirected) return; // signed out
        const { results } = await response.json();
        if (query.get("q") !== input.value) return; // typed on meanwhile
        const options = results.map(([id, name]) => Object.assign(new Option(name, id), { label: name }));
        input.list.replaceChildren(...options);
      }, SUGGESTION_DELAY_MS);
    });
  }
});
