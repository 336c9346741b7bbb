// A form with `data-progress="id"` downloads a ZIP file; that element says how many of its
// files have arrived. Without JavaScript the browser downloads it as any other file.
const FILE_HEADER = [0x50, 0x4b, 0x03, 0x04]; // begins each file in a ZIP file

for (const form of document.querySelectorAll("form[data-progress]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    download(form).catch(() => form.submit());
  });
}

async function download(form) {
  const status = document.getElementById(form.dataset.progress);
  status.textContent = "The first statement is made …";
  const response = await fetch(`?${new URLSearchParams(new FormData(form))}`);
  const total = Number(response.headers.get("X-File-Count"));
  if (!total) return form.submit(); // shows what is wrong
  const chunks = [];
  let matched = 0;
  let count = 0;
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    chunks.push(part.value);
    for (const byte of part.value) {
      matched = byte === FILE_HEADER[matched] ? matched + 1 : Number(byte === FILE_HEADER[0]);
      if (matched === FILE_HEADER.length) [matched, count] = [0, count + 1];
    }
    status.textContent = `${Math.min(count, total)} of ${total} statements`;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(chunks, { type: "application/zip" }));
  link.download = response.headers.get("Content-Disposition").match(/filename="(.+)"/)[1];
  link.click();
  URL.revokeObjectURL(link.href);
}
