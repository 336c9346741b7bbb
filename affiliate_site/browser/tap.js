/* Affiliate tracking for shops. A page loads this script once, always from one address:

     <script src="https://aff.example.net/tap.js" async></script>
     <script>
       (function (w, n) {
         w.TapfiliateObject = n;
         w[n] = w[n] || function () { (w[n].q = w[n].q || []).push(arguments); };
       })(window, "tap");
       tap("create", "harbor");
       tap("detect");
     </script>

   It sets one first-party cookie, `tap_vid`, which contains a random id only.
   It never throws into the page: if something fails, nothing is tracked. */

(function (window, document) {
  "use strict";

  var COOKIE = "tap_vid";
  var COOKIE_DAYS = 365;
  var SUB_VALUE_PREFIX = "tm_";
  var MAX_SUB_VALUES = 10;
  var MAX_KEY_LENGTH = 64;
  var MAX_VALUE_LENGTH = 255;
  var FORBIDDEN_IN_KEY = /[":{}\]\\'\/&]/;
  var MAX_KEEPALIVE_LENGTH = 60000; // browsers reject keepalive bodies over 64 KiB
  var FOREIGN_PARAMETERS = ["via", "fpr", "rfsn", "aff", "a_aid"];
  var FOREIGN_COOKIE = /(?:^|; )_fprom_ref=([\w.-]+)(?:;|$)/; // the code of a link with fpr
  var STATUSES = { customer: "new", trial: "trial", lead: "lead" };

  var name = window.TapfiliateObject || "tap";
  var stub = window[name] || {};
  if (stub.loaded) return;

  var server = new URL(getScriptUrl()).origin;
  var query = new URLSearchParams(window.location.search);
  var isTest = query.get("tap_test") === "true";
  var account = null;
  var settings = {};
  var pendingClicks = 0; // clicks sent, response not received yet
  var queuedCalls = []; // functions that need the tracking id of a pending click

  function getScriptUrl() {
    if (document.currentScript) return document.currentScript.src;
    return document.querySelector('script[src*="/tap.js"]').src;
  }

  // The public function.

  function tap() {
    var call = Array.prototype.slice.call(arguments);
    runSafely(function () {
      if (ACTIONS[call[0]]) ACTIONS[call[0]](call.slice(1));
      else logWarning("tap: there is no call " + call[0]);
    });
  }

  /* Catch every error: the page must not be affected. */
  function runSafely(callback) {
    try {
      callback();
    } catch (error) {
      logWarning(error);
    }
  }

  function logWarning(error) {
    if (window.console) window.console.warn(error);
  }

  /* Optional arguments are recognized by their types, in any order. */
  function parseArguments(args) {
    var parsed = { options: {}, texts: [] };
    args.forEach(function (arg) {
      if (typeof arg === "function") parsed.callback = arg;
      else if (Array.isArray(arg)) parsed.list = arg;
      else if (arg && typeof arg === "object") parsed.options = arg;
      else if (arg !== null && arg !== undefined) parsed.texts.push(arg);
    });
    return parsed;
  }

  var ACTIONS = {
    create: create,
    detect: detect,
    detectClick: detect,
    conversion: conversion,
    conversionMulti: conversion,
    customer: createCustomerAction("customer"),
    trial: createCustomerAction("trial"),
    lead: createCustomerAction("lead"),
    getTrackingId: getTrackingId,
    checkout: checkout,
  };

  function create(args) {
    var parsed = parseArguments(args.slice(1));
    account = args[0];
    settings = parsed.options;
    setTrackingId((settings.cookie === false ? null : readCookie()) || tap.vid);
    invokeCallback(parsed.callback, null, null);
  }

  function detect(args) {
    var parsed = parseArguments(args);
    var options = parsed.options;
    var click = getReferral(options);
    if (!click) {
      if (options.always_callback) invokeCallback(parsed.callback, null, null);
      return;
    }
    pendingClicks += 1;
    send("click", addContext(click, options), function (error, response) {
      pendingClicks -= 1;
      if (response) {
        setTrackingId(response.vid);
        setCookie(response.vid, options.cookie_domain || settings.cookie_domain);
      }
      invokeCallback(parsed.callback, error, response && { tracking_id: response.vid });
      while (!pendingClicks && queuedCalls.length) runSafely(queuedCalls.shift());
    });
  }

  function conversion(args) {
    // The second argument may be the amount, or already the commissions or options.
    var hasAmount = !args[1] || (typeof args[1] !== "object" && typeof args[1] !== "function");
    var parsed = parseArguments(args.slice(hasAmount ? 2 : 1));
    var options = parsed.options;
    var hasCommissions = parsed.list && parsed.list.length > 0;
    var payload = {
      external_id: args[0],
      amount: hasAmount && !hasCommissions ? keepNaN(args[1]) : undefined,
      commissions: parsed.list,
      commission_type: hasCommissions ? undefined : parsed.texts[0],
      customer_id: options.customer_id,
      currency: options.currency,
      coupons: options.coupons,
      meta_data: options.meta_data,
      signature: options.signature,
    };
    afterPendingClicks(function () {
      if (!tap.vid && !hasCoupon(payload) && !payload.customer_id) {
        return invokeCallback(parsed.callback, null, null);
      }
      sendSale("conversion", addContext(payload, options), "external_id", parsed.callback);
    });
  }

  /* JSON has no NaN: as null the server would take it for an amount of 0. */
  function keepNaN(amount) {
    return typeof amount === "number" && !isFinite(amount) ? String(amount) : amount;
  }

  function createCustomerAction(kind) {
    return function (args) {
      var parsed = parseArguments(args.slice(1));
      var options = parsed.options;
      var payload = {
        customer_id: args[0],
        status: STATUSES[kind],
        coupons: options.coupons,
        meta_data: options.meta_data,
        signature: options.signature,
      };
      afterPendingClicks(function () {
        if (!tap.vid && !hasCoupon(payload)) {
          return invokeCallback(parsed.callback, null, null);
        }
        sendSale("customer", addContext(payload, options), "customer_id", parsed.callback);
      });
    };
  }

  function getTrackingId(args) {
    var parsed = parseArguments(args);
    afterPendingClicks(function () {
      invokeCallback(parsed.callback, tap.vid || null);
    });
  }

  /* Hand the tracking id to checkouts that report sales by themselves: links, buttons
     and tables of Stripe on the page, and the cart of Shopify. */
  function checkout(args) {
    var parsed = parseArguments(args);
    afterPendingClicks(function () {
      if (tap.vid) {
        select('a[href^="https://buy.stripe.com/"]').forEach(addReference);
        select("stripe-buy-button, stripe-pricing-table").forEach(function (element) {
          element.setAttribute("client-reference-id", tap.vid);
        });
        if (window.Shopify) fillCart();
      }
      invokeCallback(parsed.callback, tap.vid || null);
    });
  }

  function select(selector) {
    return Array.prototype.slice.call(document.querySelectorAll(selector));
  }

  function addReference(link) {
    var url = new URL(link.href);
    url.searchParams.set("client_reference_id", tap.vid);
    link.href = url.href;
  }

  function fillCart() {
    var root = (window.Shopify.routes && window.Shopify.routes.root) || "/";
    window.fetch(root + "cart/update.js", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ attributes: { tap_vid: tap.vid } }),
    }).catch(logWarning);
  }

  // Payloads.

  function addContext(payload, options) {
    payload.account = account;
    payload.vid = tap.vid || undefined;
    payload.program_group = options.program_group || settings.program_group;
    return payload;
  }

  function hasCoupon(payload) {
    return /\S/.test([].concat(payload.coupons || []).join(""));
  }

  /* The affiliate link of this page view, or null; a referral code takes precedence. */
  function getReferral(options) {
    var parameter = options.referral_code_param || "ref";
    var code = rejectNul(options.referral_code || query.get(parameter));
    // A link of another program; the server knows whether it counts.
    var foreign = code ? null : FOREIGN_PARAMETERS.filter(isInQuery)[0];
    code = code || (foreign && rejectNul(query.get(foreign)));
    var asset = query.get("tap_a");
    var source = query.get("tap_s");
    if (!code && !(asset && source)) {
      code = readForeignCode();
      foreign = "fpr";
      if (!code) return null;
    }
    return {
      referral_code: code || undefined,
      link_parameter: foreign,
      asset_id: code ? undefined : asset,
      source_id: code ? undefined : source,
      landing_page: window.location.href,
      referrer: document.referrer || undefined,
      meta_data: getSubValues(),
    };
  }

  /* The code that another program's script has stored for a visitor who is new here. */
  function readForeignCode() {
    var match = settings.cookie !== false && !tap.vid && document.cookie.match(FOREIGN_COOKIE);
    return match ? match[1] : null;
  }

  function isInQuery(parameter) {
    return !!query.get(parameter);
  }

  /* The server rejects text with NUL. */
  function rejectNul(text) {
    return text && text.indexOf("\0") < 0 ? text : null;
  }

  /* `tm_<name>=<value>` parameters, without those that the server would reject. */
  function getSubValues() {
    var values = {};
    query.forEach(function (value, parameter) {
      var key = parameter.slice(SUB_VALUE_PREFIX.length);
      var fits =
        key.length <= MAX_KEY_LENGTH &&
        value.length <= MAX_VALUE_LENGTH &&
        (key + value).indexOf("\0") < 0;
      var isFull = Object.keys(values).length >= MAX_SUB_VALUES && !(key in values);
      if (parameter.indexOf(SUB_VALUE_PREFIX) || !key || isFull) return;
      if (fits && !FORBIDDEN_IN_KEY.test(key)) values[key] = value;
    });
    return values;
  }

  function afterPendingClicks(callback) {
    if (pendingClicks) queuedCalls.push(callback);
    else callback();
  }

  // Requests.

  function send(call, payload, callback) {
    if (isTest) {
      if (window.console) window.console.log("tap: " + call, payload);
      return invokeCallback(callback, null, null);
    }
    if (!account) return invokeCallback(callback, new Error("tap: create comes first"), null);
    try {
      post(server + "/track/" + call + "/", JSON.stringify(payload), callback);
    } catch (error) {
      invokeCallback(callback, error, null);
    }
  }

  /* The server does not say what it stored: the page gets back the id that it sent. */
  function sendSale(call, payload, idName, callback) {
    send(call, payload, function (error) {
      var result = {};
      result[idName] = payload[idName];
      invokeCallback(callback, error, error ? null : result);
    });
  }

  /* text/plain needs no CORS preflight; keepalive completes when the visitor leaves. */
  function post(url, body, callback) {
    window
      .fetch(url, {
        method: "POST",
        body: body,
        headers: { "Content-Type": "text/plain" },
        credentials: "omit",
        keepalive: body.length < MAX_KEEPALIVE_LENGTH,
      })
      .then(function (response) {
        if (!response.ok) throw new Error("tap: the server said " + response.status);
        return response.status === 204 ? null : response.json();
      })
      .then(
        function (content) {
          invokeCallback(callback, null, content);
        },
        function (error) {
          invokeCallback(callback, error, null);
        }
      );
  }

  /* An error in a callback of the page does not stop the calls after it. */
  function invokeCallback(callback, first, second) {
    runSafely(function () {
      if (callback) callback(first, second);
    });
  }

  // The tracking id.

  function setTrackingId(vid) {
    tap.vid = vid;
    tap.vids = vid ? [vid] : [];
  }

  function readCookie() {
    var match = document.cookie.match("(?:^|; )" + COOKIE + "=([0-9a-f]+)");
    return match ? match[1] : null;
  }

  /* A cookie of a wider or narrower domain would hide the new one. */
  function deleteCookies() {
    var expired = COOKIE + "=; path=/; max-age=0";
    var host = window.location.hostname;
    document.cookie = expired;
    while (host) {
      document.cookie = expired + "; domain=" + host;
      host = host.split(".").slice(1).join(".");
    }
  }

  function setCookie(vid, domain) {
    if (settings.cookie === false) return;
    deleteCookies();
    document.cookie =
      COOKIE + "=" + vid +
      "; path=/; SameSite=Lax; max-age=" + COOKIE_DAYS * 24 * 3600 +
      (domain ? "; domain=" + domain : "") +
      (window.location.protocol === "https:" ? "; Secure" : "");
  }

  // The calls queued by the page: `create` first, then the others in their order.

  setTrackingId(null);
  tap.loaded = true;
  window[name] = tap;
  var queue = stub.q || [];
  stub.loaded = true;
  stub.q = { push: function (call) { tap.apply(null, call); } };
  var calls = Array.prototype.slice.call(queue);
  function isCreate(call) {
    return call[0] === "create";
  }
  calls.filter(isCreate).concat(calls.filter(function (call) {
    return !isCreate(call);
  })).forEach(function (call) {
    tap.apply(null, call);
  });
})(window, document);
