// Beside each chosen column of a file its first values, and below the columns nobody chose.
addEventListener("DOMContentLoaded", () => {
  const read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "[]");
  const examples = read("column-examples"), headers = read("column-headers");
  const selects = [...document.querySelectorAll('.import-columns select[name^="column__"]')];
  const unread = document.getElementById("unread");
  if (!unread) return;
  const update = () => {
    const used = new Set(selects.map((select) => select.value));
    const left = headers.filter((_, index) => !used.has(String(index)));
    unread.hidden = !left.length;
    unread.querySelector("span").textContent = left.join(", ");
    for (const select of selects) {
      const cell = select.closest("tr").querySelector("[data-examples]");
      cell.textContent = (examples[select.value] ?? []).join(" · ");
    }
  };
  document.addEventListener("change", update);
  update();
});
