// Swagger UI has dark styles, which this class of the root element turns on.
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const applyTheme = () => document.documentElement.classList.toggle("dark-mode", prefersDark.matches);
prefersDark.addEventListener("change", applyTheme);
applyTheme();
