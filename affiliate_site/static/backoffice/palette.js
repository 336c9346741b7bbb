// The theme's palette selects no result, and Enter raised an error: it opens the first.
// Pressed before the results of what was typed are there, it waits for them.
document.addEventListener("alpine:init", () => {
  const createPalette = window.searchCommand;
  window.searchCommand = () => {
    const palette = createPalette();
    const { handleContentLoaded, selectItem } = palette;
    let shownTerm = "";
    let waiting = null; // the term and the arguments of an early Enter
    palette.handleContentLoaded = function (event) {
      handleContentLoaded.call(this, event);
      if (event.target.id !== "command-results") return;
      if (this.hasResults) this.currentIndex = 1;
      const url = new URL(event.detail.pathInfo.finalRequestPath, window.location);
      shownTerm = url.searchParams.get("s");
      const enter = waiting;
      waiting = null;
      if (enter?.term === shownTerm) this.selectItem(...enter.options);
    };
    palette.selectItem = function (...options) {
      const term = this.$refs.searchInputCommand.value;
      if (term !== shownTerm) waiting = { term, options };
      else if (this.items?.[this.currentIndex - 1]) selectItem.apply(this, options);
    };
    return palette;
  };
});
