// The theme's palette selects no result, and Enter raised an error: it opens the first.
document.addEventListener("alpine:init", () => {
  const createPalette = window.searchCommand;
  window.searchCommand = () => {
    const palette = createPalette();
    const { handleContentLoaded, selectItem } = palette;
    palette.handleContentLoaded = function (event) {
      handleContentLoaded.call(this, event);
      if (event.target.id === "command-results" && this.hasResults) this.currentIndex = 1;
    };
    palette.selectItem = function (...options) {
      if (this.items?.[this.currentIndex - 1]) selectItem.apply(this, options);
    };
    return palette;
  };
});
