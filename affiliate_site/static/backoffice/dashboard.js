// The text of the charts in the color of the theme, which redraws them when it changes.
const setTextColor = () => {
  const shade = document.documentElement.classList.contains("dark") ? "300" : "600";
  const style = getComputedStyle(document.documentElement);
  Chart.defaults.color = style.getPropertyValue(`--color-base-${shade}`).trim();
};
setTextColor();
new MutationObserver(setTextColor).observe(document.documentElement, { attributeFilter: ["class"] });
// A phone shows the first page of the dashboard; what is below it unfolds.
if (matchMedia("(max-width: 639px)").matches)
  for (const details of document.querySelectorAll("[data-folds]"))
    details.open = details.querySelector(":target") !== null;
