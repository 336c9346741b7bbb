// The text of the charts in the color of the theme, which redraws them when it changes.
const setTextColor = () => {
  const shade = document.documentElement.classList.contains("dark") ? "300" : "600";
  const style = getComputedStyle(document.documentElement);
  Chart.defaults.color = style.getPropertyValue(`--color-base-${shade}`).trim();
};
setTextColor();
new MutationObserver(setTextColor).observe(document.documentElement, { attributeFilter: ["class"] });
