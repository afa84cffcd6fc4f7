// What the theme leaves to a mouse: the keyboard reaches wide tables, and the menu of a narrow screen.
"use strict";
{
  const narrow = matchMedia("(max-width: 76.234375em)");
  const drawer = document.getElementById("__drawer");
  const opener = document.querySelector('.md-header__button[for="__drawer"]');
  const folds = document.querySelectorAll('.md-nav label[for^="__nav_"], .md-nav label[for="__toc"]');

  // A box that scrolls is a stop; the theme puts tables into boxes after the page has loaded.
  function reachTables() {
    for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) {
      const scrolls = box.scrollWidth > box.clientWidth;
      const said = { tabindex: "0", role: "region", "aria-label": "Table that scrolls sideways" };
      for (const [name, value] of Object.entries(said)) {
        if (scrolls) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
    }
  }

  // Labels that open and close parts of the menu; the theme itself answers Enter on them.
  function reachMenu() {
    for (const label of [opener, ...folds]) {
      if (narrow.matches) {
        label.setAttribute("tabindex", "0");
        label.setAttribute("role", "button");
      } else {
        label.removeAttribute("tabindex");
        label.removeAttribute("role");
      }
    }
  }

  function showState(label, isOpen) {
    label.setAttribute("aria-expanded", String(isOpen));
  }

  // Focus goes into the menu when it opens, and back when it closes.
  drawer.addEventListener("change", () => {
    showState(opener, drawer.checked);
    const stops = document.querySelectorAll(".md-nav--primary > .md-nav__list :is(a, label)");
    const first = [...stops].find((one) => one.offsetParent !== null);
    (drawer.checked ? first : opener).focus();
  });
  for (const toggle of document.querySelectorAll(".md-nav--primary .md-nav__toggle")) {
    const label = document.querySelector(`label.md-nav__link[for="${toggle.id}"]`);
    toggle.addEventListener("change", () => {
      showState(label, toggle.checked);
      if (!toggle.checked) label.focus();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === " " && event.target.matches('label[role="button"]')) {
      event.preventDefault();
      event.target.click();
    } else if (event.key === "Escape" && drawer.checked) {
      drawer.click();
    }
  });

  opener.setAttribute("aria-label", "Menu");
  reachMenu();
  narrow.addEventListener("change", reachMenu);
  new MutationObserver(reachTables).observe(document.body, { childList: true, subtree: true });
  addEventListener("resize", reachTables);
  addEventListener("load", reachTables);
}
