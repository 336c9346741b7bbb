// A button with `data-copies="id"` puts the text of that element into the clipboard.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copies);
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source); // no clipboard here: select it instead
  }
});
