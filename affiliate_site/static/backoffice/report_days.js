// A day that is entered replaces the named period.
document.querySelectorAll("#id_start, #id_end").forEach((field) =>
  field.addEventListener("input", () => {
    document.querySelector("#id_days").value = "";
  })
);
