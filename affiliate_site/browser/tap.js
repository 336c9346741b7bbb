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
   It never throws into the page: if something fails, nothing is tracked, and the
   callback of the call gets the error. */

(function (window, document) {
  "use strict";

  var COOKIE = "tap_vid";
  var COOKIE_DAYS = 365;
  var SUB_VALUE_PREFIX = "tm_";
  var MAX_SUB_VALUES = 10;
  var MAX_KEY_LENGTH = 64;
  var MAX_VALUE_LENGTH = 255;
  var FORBIDDEN_IN_KEY = /[":{}\]\\'\/&]/;
  var AGREED = "-"; // the value of the cookie after consent, until there is a visit
  // Browsers reject keepalive bodies beyond 64 KiB, over all requests that are under way.
  var MAX_KEEPALIVE_BYTES = 60000;
  var FOREIGN_PARAMETERS = ["via", "fpr", "rfsn", "aff", "a_aid"];
  var FOREIGN_COOKIE = /(?:^|; )_fprom_ref=([\w.-]+)(?:;|$)/; // the code of a link with fpr
  // Amounts as shops print them: the rules of tracking/printed_amounts.py.
  var MARK = "([A-Z]{3}|[A-Z]{0,2}[$\u00a3\u00a5\u0e3f\u20a0-\u20cf]" +
    "|kr|z\u0142|K\u010d|Ft|lei|Fr|Rp|RM)\\.?";
  var LEADING_MARK = new RegExp("^" + MARK + "\\s*(?=[0-9])");
  var TRAILING_MARK = new RegExp("([^A-Za-z$])\\s*" + MARK + "$");
  var NUMBER = new RegExp(
    "^(?:\\d+|\\d{1,3}([.,'\u2019\\s])\\d{3}(?:\\1\\d{3})*|\\d{1,2}(,)(?:\\d{2},)+\\d{3})" +
      "(?:([.,])(?:\\d+|[-\u2013\u2014]{1,2}))?$"
  );
  var AMBIGUOUS_NUMBER = /^[1-9]\d{0,2}([.,])\d{3}$/;
  var THREE_DECIMALS = /^(BHD|IQD|JOD|KWD|LYD|OMR|TND)$/;
  var MAX_AMOUNT_LENGTH = 64;
  var REFERENCE = "client_reference_id";
  var HANDOVER = "tap_visitor"; // the parameter between hosts of a shop
  var REFRESH_MS = 60000; // it counts for two minutes
  var STATUSES = { customer: "new", trial: "trial", lead: "lead" };

  var name = window.TapfiliateObject || "tap";
  var stub = window[name] || {};
  if (stub.loaded) return;

  var scriptUrl = findScriptUrl();
  var query = readParameters(window.location);
  var isTest = getLast(query, "tap_test") === "true";
  var account = null;
  var settings = {};
  var decision; // of the visitor, about the cookie: true, false, or none yet
  var forgottenVid = null; // the tracking id before a refusal on this page
  var pendingClicks = 0; // clicks sent, response not received yet
  var queuedCalls = []; // functions that need the tracking id of a pending click
  var waitingCalls = []; // calls that need consent
  var heldCalls = []; // calls of a page that is prerendered
  var handovers = {}; // the parameter of each other host of the shop
  var handoversAt = 0; // when they were asked for, in milliseconds
  var keepaliveBytes = 0; // of the requests that are under way

  /* A module or a bundle has no script element of its own: see the option `server`. */
  function findScriptUrl() {
    var own = document.currentScript && document.currentScript.src;
    var element = document.querySelector('script[src*="/tap.js"]');
    return own || (element ? element.src : "");
  }

  /* The parameters of an address, also where the link is mangled: after "&amp;", a second
     "?", or a "?" in the fragment. */
  function readParameters(address) {
    var text = address.search.slice(1) + "&" + address.hash.split("?").slice(1).join("?");
    return new URLSearchParams(text.replace(/&amp;|\?(?=[\w-]{1,64}=)/g, "&"));
  }

  function getLast(query, parameter) {
    return query.getAll(parameter).filter(Boolean).pop() || null;
  }

  // The public function.

  function tap() {
    var call = Array.prototype.slice.call(arguments);
    if (document.prerendering) return heldCalls.push(call);
    var args = call.slice(1);
    runSafely(function () {
      if (!ACTIONS[call[0]]) throw new Error("tap: there is no call " + call[0]);
      ACTIONS[call[0]](args);
    }, parseArguments(args).callback);
  }

  /* Catch every error: the page must not be affected. */
  function runSafely(run, callback) {
    try {
      run();
    } catch (error) {
      logWarning(error);
      invokeCallback(callback, error, null);
    }
  }

  /* In test mode the console shows each call, and what the script knows of it. */
  function explain(text, detail) {
    if (isTest && window.console) window.console.log("tap: " + text, detail || "");
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
    consent: setConsent,
    detect: detect,
    detectClick: detect,
    conversion: conversion,
    conversionMulti: conversion,
    customer: createCustomerAction("customer"),
    trial: createCustomerAction("trial"),
    lead: createCustomerAction("lead"),
    getTrackingId: getTrackingId,
    checkout: checkout,
    link: link,
  };

  function create(args) {
    var parsed = parseArguments(args.slice(1));
    account = args[0];
    settings = parsed.options;
    if (settings.consent === true && decision === undefined) decision = true;
    var vid = settings.cookie === false || decision === false ? null : readCookie();
    setTrackingId(vid === AGREED ? tap.vid : vid || tap.vid);
    if (isTest) explain("create " + account + ": " + describeCookie(vid));
    applyDecision();
    invokeCallback(parsed.callback, null, null);
  }

  function describeCookie(vid) {
    if (!isAllowed()) return "no cookie, calls wait for consent";
    if (settings.cookie === false) return "without a cookie";
    if (!vid || vid === AGREED) return "no cookie: no visit through a link yet";
    return "visitor " + vid + (isOfAccount(vid) ? "" : ", by a cookie of another account");
  }

  /* The end of a tracking id is a checksum of the account that it was made for. */
  function isOfAccount(vid) {
    var sum = 0;
    String(account).split("").forEach(function (letter) {
      sum = (sum * 31 + letter.charCodeAt(0)) % 65536;
    });
    return vid.slice(-4) === ("000" + sum.toString(16)).slice(-4);
  }

  // Consent.

  /* The visitor accepts or refuses the cookie. */
  function setConsent(args) {
    var parsed = parseArguments(args);
    if (typeof args[0] !== "boolean") {
      throw new Error("tap: consent is true or false");
    }
    decision = args[0];
    explain("consent " + decision);
    if (account) applyDecision(); // else `create` does, which knows the options
    invokeCallback(parsed.callback, null, null);
  }

  function applyDecision() {
    if (decision) {
      setTrackingId(tap.vid || forgottenVid);
      if (tap.vid || !readCookie()) setCookie(tap.vid || AGREED, settings.cookie_domain);
    } else if (decision === false) {
      forgottenVid = tap.vid || forgottenVid;
      setTrackingId(null);
      deleteCookies();
      refuseWaitingCalls();
    }
    if (isAllowed()) runWaitingCalls();
  }

  /* A cookie is there only after consent; without the option `consent` none is needed. */
  function isAllowed() {
    if (decision !== undefined) return decision;
    return settings.consent !== false || !!readCookie();
  }

  /* Run a call once it is allowed. `isNamed` says that a sale or customer names a coupon
     or customer: it goes out without consent, too, and then without the visitor. */
  function afterConsent(parsed, run, isNamed) {
    if (isAllowed()) return run();
    waitingCalls.push({ parsed: parsed, run: run, isNamed: isNamed });
    explain("the call waits for consent");
    if (decision === false) refuseWaitingCalls();
  }

  function runWaitingCalls() {
    waitingCalls.splice(0).forEach(function (call) {
      runSafely(call.run, call.parsed.callback);
    });
  }

  /* The visitor may still agree on this page: then the others run, too. */
  function refuseWaitingCalls() {
    sendNamedCalls();
    waitingCalls.forEach(function (call) {
      var callback = call.parsed.callback;
      call.parsed.callback = null;
      invokeCallback(callback, null, null);
    });
  }

  function sendNamedCalls() {
    waitingCalls.splice(0).forEach(function (call) {
      if (call.isNamed) runSafely(call.run, call.parsed.callback);
      else waitingCalls.push(call);
    });
  }

  // Visits, sales and customers.

  function detect(args) {
    var parsed = parseArguments(args);
    afterConsent(parsed, function () {
      reportVisit(parsed);
    });
  }

  function reportVisit(parsed) {
    var options = parsed.options;
    var click = getReferral(options);
    if (!click) {
      explain("detect: no link in the address");
      if (options.always_callback) invokeCallback(parsed.callback, null, null);
      return;
    }
    click.cookie_domain = options.cookie_domain || settings.cookie_domain;
    pendingClicks += 1;
    send("click", addContext(click, options), function (error, response) {
      pendingClicks -= 1;
      if (response && isAllowed()) {
        setTrackingId(response.vid);
        setCookie(response.vid, click.cookie_domain);
      } else if (response) {
        forgottenVid = response.vid;
        deleteCookies(); // the response may have set one
      }
      invokeCallback(parsed.callback, error, response && { tracking_id: response.vid });
      while (!pendingClicks && queuedCalls.length) queuedCalls.shift()();
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
    var isNamed = !!(hasCoupon(payload) || payload.customer_id);
    // What waits for consent was not sent before.
    if (isRepetition(payload) && (isNamed || isAllowed())) {
      logWarning("tap: a sale without order id is not sent again when its page is loaded again");
      return invokeCallback(parsed.callback, null, null);
    }
    sendSale("conversion", payload, "external_id", parsed, isNamed, findAmountError(payload));
  }

  /* Why the server will refuse an amount: the page gets to know it at once. */
  function findAmountError(payload) {
    var unreadable = (payload.commissions || []).map(function (item) {
      return item && item.sub_amount;
    }).concat(isSent(payload.amount) ? payload.amount : []).filter(function (amount) {
      return !isReadable(amount, payload.currency);
    });
    if (!unreadable.length) return null;
    return new Error(
      "tap: the amount " + JSON.stringify(unreadable[0]) + " cannot be read, print it like 1249.90"
    );
  }

  function isSent(value) {
    return value !== undefined && value !== null;
  }

  function isReadable(amount, currency) {
    if (typeof amount === "number") return amount >= 0 && isFinite(amount);
    if (typeof amount !== "string") return false;
    var text = amount.trim();
    if (text.length > MAX_AMOUNT_LENGTH) return false;
    var mark = text.match(LEADING_MARK);
    if (mark) text = text.slice(mark[0].length);
    else {
      var end = text.match(TRAILING_MARK);
      mark = end && [end[0], end[2]];
      if (end) text = text.slice(0, end.index) + end[1];
    }
    var number = text.trim().match(NUMBER);
    var ambiguous = text.trim().match(AMBIGUOUS_NUMBER);
    if (!number || (number[3] && (number[3] === number[1] || number[3] === number[2]))) return false;
    return !ambiguous || (ambiguous[1] === "." && THREE_DECIMALS.test(currency || (mark && mark[1])));
  }

  /* Has the browser loaded again, or returned to, the page that reports this sale? */
  function isRepetition(payload) {
    if (/\S/.test(payload.external_id || "")) return false;
    var page = window.performance && performance.getEntriesByType("navigation")[0];
    return !!page && /^(reload|back_forward)$/.test(page.type) &&
      page.name.split("#")[0] === window.location.href.split("#")[0];
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
      sendSale("customer", payload, "customer_id", parsed, hasCoupon(payload));
    };
  }

  function getTrackingId(args) {
    var parsed = parseArguments(args);
    afterVisit(parsed, function () {
      explain("getTrackingId: " + tap.vid);
      invokeCallback(parsed.callback, tap.vid || null);
    });
  }

  /* Hand the tracking id to checkouts that report sales by themselves: links, buttons
     and tables of Stripe and hidden fields, once the page is complete, and the cart of
     Shopify. */
  function checkout(args) {
    var parsed = parseArguments(args);
    afterVisit(parsed, function () {
      if (document.readyState !== "loading") return fillCheckouts(parsed.callback);
      document.addEventListener("DOMContentLoaded", function () {
        fillCheckouts(parsed.callback);
      });
    });
  }

  function fillCheckouts(callback) {
    var links = select('a[href^="https://buy.stripe.com/"]');
    var elements = select("stripe-buy-button, stripe-pricing-table");
    var fields = select('input[name="tap_vid"], input[name="tracking_id"]');
    if (tap.vid) {
      runSafely(function () {
        links.forEach(addReference);
        elements.forEach(function (element) {
          var present = element.getAttribute("client-reference-id");
          if (isFree(present, REFERENCE)) element.setAttribute("client-reference-id", tap.vid);
        });
        fields.forEach(function (field) {
          if (isFree(field.value, field.name)) field.value = tap.vid;
        });
        if (window.Shopify && !isTest) fillCart();
      });
    }
    explain(
      "checkout: visitor " + tap.vid + ", " + (links.length + elements.length + fields.length) +
        " links, buttons, tables and fields" + (window.Shopify ? ", the cart of Shopify" : "")
    );
    invokeCallback(callback, tap.vid || null);
  }

  function select(selector) {
    return Array.prototype.slice.call(document.querySelectorAll(selector));
  }

  function addReference(link) {
    var url = new URL(link.href);
    if (!isFree(url.searchParams.get(REFERENCE), REFERENCE)) return;
    url.searchParams.set(REFERENCE, tap.vid);
    link.href = url.href;
  }

  /* A reference of the shop's own is never replaced. */
  function isFree(reference, name) {
    var isOther = reference && reference !== tap.vid;
    if (isOther) {
      logWarning(
        "tap: " + name + " is " + reference + " already and stays: such a sale names no visit"
      );
    }
    return !isOther;
  }

  function fillCart() {
    var root = (window.Shopify.routes && window.Shopify.routes.root) || "/";
    window.fetch(root + "cart/update.js", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ attributes: { tap_vid: tap.vid } }),
    }).catch(logWarning);
  }

  // Other hosts of the shop.

  /* Ask for the parameters before a link is followed, and again while they count. */
  function refreshHandovers() {
    var vid = tap.vid;
    if (!settings.linker || !vid || Date.now() - handoversAt < REFRESH_MS) return;
    handoversAt = Date.now();
    var call = { account: account, vid: vid, hosts: settings.linker };
    send("handover", call, function (error, response) {
      if (response && tap.vid === vid) handovers = response.handovers;
    });
  }

  function addHandover(address) {
    refreshHandovers();
    var url = new URL(address, document.baseURI);
    if (!handovers[url.host]) return address;
    url.searchParams.set(HANDOVER, handovers[url.host]);
    return url.href;
  }

  /* It never waits: the visitor goes on, handed over or not. */
  function link(args) {
    invokeCallback(parseArguments(args).callback, null, addHandover(args[0]));
  }

  /* The link or form that the visitor touches, or submits. */
  function prepareLink(event) {
    var element = event.target.closest && event.target.closest("a[href], form[action]");
    if (settings.linker && element) runSafely(function () {
      var attribute = element.tagName === "A" ? "href" : "action";
      var address = element.getAttribute(attribute);
      var prepared = addHandover(address);
      if (prepared !== address) element.setAttribute(attribute, prepared);
    });
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

  /* The affiliate link of this page view, or null; a referral code takes precedence.
     While the first page waited for consent, it is the link of the page before. */
  function getReferral(options) {
    var link = readLink(query, options, window.location.href);
    if (link || tap.vid || settings.consent === undefined) return link || readForeignLink();
    var before = document.referrer && new URL(document.referrer);
    link = before && before.origin === window.location.origin &&
      readLink(readParameters(before), options, before.href);
    return link || readForeignLink();
  }

  function readLink(query, options, address) {
    var parameter = options.referral_code_param || "ref";
    var code = rejectNul(options.referral_code || getLast(query, parameter));
    // A link of another program; the server knows whether it counts.
    var foreign = code ? null : FOREIGN_PARAMETERS.filter(function (name) {
      return !!getLast(query, name);
    })[0];
    code = code || (foreign && rejectNul(getLast(query, foreign)));
    var asset = getLast(query, "tap_a");
    var source = getLast(query, "tap_s");
    if (!code && !(asset && source)) return readHandover(query, address);
    return {
      referral_code: code || undefined,
      link_parameter: foreign || undefined,
      asset_id: code ? undefined : asset,
      source_id: code ? undefined : source,
      landing_page: address,
      referrer: address === window.location.href && document.referrer || undefined,
      meta_data: getSubValues(query),
    };
  }

  /* A visitor of another host of the shop, unless it is the one that is here already. */
  function readHandover(query, address) {
    var handover = getLast(query, HANDOVER);
    if (!handover || !handover.indexOf(tap.vid + "~")) return null;
    return { handover: handover, landing_page: address };
  }

  /* The code that another program's script has stored for a visitor who is new here. */
  function readForeignLink() {
    var match = settings.cookie !== false && !tap.vid && getCookies().match(FOREIGN_COOKIE);
    return match ? {
      referral_code: match[1],
      link_parameter: "fpr",
      landing_page: window.location.href,
      referrer: document.referrer || undefined,
      meta_data: getSubValues(query),
    } : null;
  }

  /* The server rejects text with NUL. */
  function rejectNul(text) {
    return text && text.indexOf("\0") < 0 ? text : null;
  }

  /* `tm_<name>=<value>` parameters, without those that the server would reject. */
  function getSubValues(query) {
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

  /* Run a call once it is allowed and no visit is being reported. */
  function afterVisit(parsed, run, isNamed) {
    afterConsent(parsed, function () {
      if (!pendingClicks) return run();
      queuedCalls.push(function () {
        runSafely(run, parsed.callback);
      });
    }, isNamed);
  }

  // Requests.

  function send(call, payload, callback) {
    if (isTest) {
      explain(call, payload);
      return invokeCallback(callback, null, null);
    }
    try {
      if (!account) throw new Error("tap: create comes first");
      var server = getServer();
      if (!server) throw new Error("tap: create needs the option server");
      post(new URL("/track/" + call + "/", server).href, JSON.stringify(payload), callback);
    } catch (error) {
      invokeCallback(callback, error, null);
    }
  }

  /* The address of the service: of its own, or of the shop's host that passes calls on. */
  function getServer() {
    var server = settings.server || scriptUrl;
    return server ? new URL(server, window.location.href) : null;
  }

  /* The server does not say what it stored: the page gets back the id that it sent.
     A sale that names no visitor, coupon or customer is not sent: nobody could earn it. */
  function sendSale(call, payload, idName, parsed, isNamed, problem) {
    if (problem) logWarning(problem);
    afterVisit(parsed, function () {
      if (!tap.vid && !isNamed) {
        explain(call + " " + payload[idName] + " is not sent: no cookie, coupon or customer");
        return invokeCallback(parsed.callback, problem || null, null);
      }
      send(call, addContext(payload, parsed.options), function (error) {
        var result = {};
        error = error || problem || null;
        result[idName] = payload[idName];
        invokeCallback(parsed.callback, error, error ? null : result);
      });
    }, isNamed);
  }

  /* text/plain needs no CORS preflight; keepalive completes when the visitor leaves. */
  function post(url, body, callback) {
    var bytes = new Blob([body]).size;
    var keepalive = keepaliveBytes + bytes <= MAX_KEEPALIVE_BYTES;
    if (!keepalive) bytes = 0;
    keepaliveBytes += bytes;
    function finish(error, content) {
      keepaliveBytes -= bytes;
      invokeCallback(callback, error, content);
    }
    window
      .fetch(url, {
        method: "POST",
        body: body,
        headers: { "Content-Type": "text/plain" },
        // On the shop's own host the response sets the cookie; elsewhere none is sent.
        credentials: settings.cookie === false ? "omit" : "same-origin",
        keepalive: keepalive,
      })
      .then(function (response) {
        if (!response.ok) throw new Error("tap: the server said " + response.status);
        return response.status === 204 ? null : response.json();
      })
      .then(
        function (content) {
          finish(null, content);
        },
        function (error) {
          finish(error, null);
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
    if (vid !== tap.vid) handoversAt = 0;
    tap.vid = vid;
    tap.vids = vid ? [vid] : [];
    if (!handoversAt) handovers = {};
    refreshHandovers();
  }

  /* A frame in a sandbox has no cookies: reading them is an error there. */
  function getCookies() {
    try {
      return document.cookie;
    } catch (error) {
      return "";
    }
  }

  function readCookie() {
    var match = getCookies().match("(?:^|; )" + COOKIE + "=([0-9a-f]+|" + AGREED + ")(?:;|$)");
    return match ? match[1] : null;
  }

  function writeCookie(text) {
    try {
      document.cookie = text;
    } catch (error) {
      explain("cookies are not allowed here");
    }
  }

  /* A cookie of a wider or narrower domain would hide the new one. */
  function deleteCookies() {
    if (isTest) return;
    var expired = COOKIE + "=; path=/; max-age=0";
    var host = window.location.hostname;
    writeCookie(expired);
    while (host) {
      writeCookie(expired + "; domain=" + host);
      host = host.split(".").slice(1).join(".");
    }
  }

  function setCookie(vid, domain) {
    if (settings.cookie === false || isTest) return;
    // Safari keeps a cookie of the server longer than one that a script writes.
    var isServed = getServer() && getServer().origin === window.location.origin;
    if (isServed && readCookie() === vid) return;
    deleteCookies();
    writeCookie(
      COOKIE + "=" + vid +
        "; path=/; SameSite=Lax; max-age=" + COOKIE_DAYS * 24 * 3600 +
        (domain ? "; domain=" + domain : "") +
        (window.location.protocol === "https:" ? "; Secure" : "")
    );
  }

  /* The calls queued by the page: `create` first, then the others in their order. */
  function runAll(calls) {
    function isCreate(call) {
      return call[0] === "create";
    }
    calls.filter(isCreate).concat(calls.filter(function (call) {
      return !isCreate(call);
    })).forEach(function (call) {
      tap.apply(null, call);
    });
  }

  setTrackingId(null);
  tap.loaded = true;
  window[name] = tap;
  var queue = Array.prototype.slice.call(stub.q || []);
  stub.loaded = true;
  stub.q = { push: function (call) { tap.apply(null, call); } };
  window.addEventListener("pagehide", sendNamedCalls);
  ["pointerover", "pointerdown", "focusin", "click", "submit"].forEach(function (kind) {
    document.addEventListener(kind, prepareLink, true);
  });
  // A page that is prerendered may never be shown.
  document.addEventListener("prerenderingchange", function () {
    runAll(heldCalls.splice(0));
  });
  runAll(queue);
})(window, document);
