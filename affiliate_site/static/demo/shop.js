/* What a shop's pages do, and a look at what came of it. */

(function (w, n) {
  w.TapfiliateObject = n;
  w[n] = w[n] || function () { (w[n].q = w[n].q || []).push(arguments); };
})(window, "tap");

window.tap("create", document.documentElement.dataset.account);
window.tap("detect");

document.addEventListener("DOMContentLoaded", function () {
  "use strict";

  // The same customer until the page is opened in another tab; each order is a new one.
  var customer = sessionStorage.customer || "customer-" + Date.now();
  sessionStorage.customer = customer;

  function element(id) {
    return document.getElementById(id);
  }

  function say(text) {
    element("said").textContent = text;
  }

  function told(what) {
    return function (error) {
      say(error ? "Not sent: " + error.message : what);
    };
  }

  document.querySelector("[data-customer]").textContent = customer;

  window.tap("getTrackingId", function (vid) {
    element("vid").textContent = vid || "none yet: come by the link above";
  });

  element("sign-up").addEventListener("click", function () {
    window.tap("customer", customer, told("The sign-up of " + customer + " was told."));
  });

  element("buy").addEventListener("click", function () {
    var order = "order-" + Date.now();
    var options = { customer_id: customer };
    window.tap("conversion", order, 49.9, options, told("The sale " + order + " was told."));
  });

  element("watch").addEventListener("submit", function (event) {
    event.preventDefault();
    ["clicks", "customers", "conversions"].forEach(function (name) {
      fetch("/1.6/" + name + "/", { headers: { "X-Api-Key": element("key").value } })
        .then(function (response) {
          return response.json();
        })
        .then(function (rows) {
          var newest = Array.isArray(rows) ? rows[0] || "none yet" : rows;
          element(name).textContent = JSON.stringify(newest, null, 2);
        }, told(""));
    });
  });
});
