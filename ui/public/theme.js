// The theme that was chosen is set before anything is drawn, so that the page does not flash in the other one.
(function () {
  try {
    var theme = localStorage.getItem("zerodag.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (e) {
    // Without storage the page follows the system.
  }
})();
