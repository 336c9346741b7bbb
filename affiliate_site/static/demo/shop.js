/* Calls the browser script as a shop does, and shows the recorded data. */

(function (w, n) {
  w.TapfiliateObject = n;
  w[n] = w[n] || function () { (w[n].q = w[n].q || []).push(arguments); };
})(window, "tap");

window.tap("create", document.documentElement.dataset.account);
window.tap("detect");

document.addEventListener("DOMContentLoaded", function () {
  "use strict";

  // One customer per browser tab; each order is new.
  var customer = sessionStorage.customer || "customer-" + Date.now();
  sessionStorage.customer = customer;

  function element(id) {
    return document.getElementById(id);
  }

  function showStatus(text) {
    return function (error) {
      element("status").textContent = error ? "Not sent: " + error.message : text;
    };
  }

  document.querySelector("[data-customer]").textContent = customer;

  window.tap("getTrackingId", function (vid) {
    element("vid").textContent = vid || "none yet: use the link above";
  });

  element("sign-up").addEventListener("click", function () {
    window.tap("customer", customer, showStatus("Sign-up of " + customer + " sent."));
  });

  element("buy").addEventListener("click", function () {
    var order = "order-" + Date.now();
    var options = { customer_id: customer };
    window.tap("conversion", order, 49.9, options, showStatus("Conversion " + order + " sent."));
  });

  // The server of the shop has signed order and amount; reload for another order.
  var signed = element("buy-signed");
  if (signed) {
    signed.addEventListener("click", function () {
      var order = signed.dataset.order;
      var options = { signature: signed.dataset.signature };
      window.tap("conversion", order, signed.dataset.amount, options, showStatus("Signed conversion " + order + " sent."));
    });
  }

  element("results-form").addEventListener("submit", function (event) {
    event.preventDefault();
    ["clicks", "customers", "conversions"].forEach(function (name) {
      fetch("/1.6/" + name + "/", { headers: { "X-Api-Key": element("key").value } })
        .then(function (response) {
          return response.json();
        })
        .then(function (rows) {
          var newest = Array.isArray(rows) ? rows[0] || "none yet" : rows;
          element(name).textContent = JSON.stringify(newest, null, 2);
        }, showStatus(""));
    });
  });
});
