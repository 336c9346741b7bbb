/* Affiliate tracking for shops. A page loads this script once, from one address:

     <script src="https://aff.example.net/tap.js" async></script>
     <script>
       (function (w, n) {
         w.TapfiliateObject = n;
         w[n] = w[n] || function () { (w[n].q = w[n].q || []).push(arguments); };
       })(window, "tap");
       tap("create", "harbor");
       tap("detect");
     </script>

   It sets one first-party cookie, `tap_vid`, that holds a random id and nothing else.
   It never throws into the page: where something fails, nothing is tracked. */

(function (window, document) {
  "use strict";

  var COOKIE = "tap_vid";
  var COOKIE_DAYS = 365;
  var SUB_VALUE = "tm_";
  var MOST_SUB_VALUES = 10;
  var LONGEST_KEY = 64;
  var LONGEST_VALUE = 255;
  var ODD_IN_KEY = /[":{}\]\\'\/&]/;
  var LONGEST_KEPT_ALIVE = 60000; // browsers refuse more than 64 KiB
  var STATUSES = { customer: "new", trial: "trial", lead: "lead" };

  var name = window.TapfiliateObject || "tap";
  var stub = window[name] || {};
  if (stub.loaded) return;

  var server = new URL(addressOfThisScript()).origin;
  var query = new URLSearchParams(window.location.search);
  var isTest = query.get("tap_test") === "true";
  var account = null;
  var settings = {};
  var visits = 0; // clicks that were sent and not yet answered
  var waiting = []; // what wants the tracking id of such a click

  function addressOfThisScript() {
    if (document.currentScript) return document.currentScript.src;
    return document.querySelector('script[src*="/tap.js"]').src;
  }

  // The function of the page.

  function tap() {
    var call = Array.prototype.slice.call(arguments);
    attempt(function () {
      if (ACTIONS[call[0]]) ACTIONS[call[0]](call.slice(1));
      else report("tap: there is no call " + call[0]);
    });
  }

  /* Whatever fails here, the page goes on. */
  function attempt(act) {
    try {
      act();
    } catch (error) {
      report(error);
    }
  }

  function report(error) {
    if (window.console) window.console.warn(error);
  }

  /* Optional arguments are told apart by what they are. */
  function sorted(args) {
    var found = { options: {}, texts: [] };
    args.forEach(function (it) {
      if (typeof it === "function") found.callback = it;
      else if (Array.isArray(it)) found.list = it;
      else if (it && typeof it === "object") found.options = it;
      else if (it !== null && it !== undefined) found.texts.push(it);
    });
    return found;
  }

  var ACTIONS = {
    create: create,
    detect: detect,
    detectClick: detect,
    conversion: conversion,
    conversionMulti: conversion,
    customer: customer("customer"),
    trial: customer("trial"),
    lead: customer("lead"),
    getTrackingId: getTrackingId,
  };

  function create(args) {
    var said = sorted(args.slice(1));
    account = args[0];
    settings = said.options;
    know((settings.cookie === false ? null : readCookie()) || tap.vid);
    answer(said.callback, null, null);
  }

  function detect(args) {
    var said = sorted(args);
    var link = linkOf(said.options);
    if (!link) {
      if (said.options.always_callback) answer(said.callback, null, null);
      return;
    }
    visits += 1;
    send("click", whole(link, said.options), function (error, told) {
      visits -= 1;
      if (told) {
        know(told.vid);
        keepCookie(told.vid, said.options.cookie_domain || settings.cookie_domain);
      }
      answer(said.callback, error, told && { tracking_id: told.vid });
      while (!visits && waiting.length) attempt(waiting.shift());
    });
  }

  function conversion(args) {
    // Where no amount stands in its place, a list of commissions or options may.
    var hasAmount = !args[1] || (typeof args[1] !== "object" && typeof args[1] !== "function");
    var said = sorted(args.slice(hasAmount ? 2 : 1));
    var sale = {
      external_id: args[0],
      amount: hasAmount && !said.list ? args[1] : undefined,
      commissions: said.list,
      commission_type: said.list ? undefined : said.texts[0],
      customer_id: said.options.customer_id,
      currency: said.options.currency,
      coupons: said.options.coupons,
      meta_data: said.options.meta_data,
    };
    afterVisits(function () {
      if (!tap.vid && !hasCoupon(sale) && !sale.customer_id) {
        return answer(said.callback, null, null);
      }
      send("conversion", whole(sale, said.options), said.callback);
    });
  }

  function customer(kind) {
    return function (args) {
      var said = sorted(args.slice(1));
      var told = {
        customer_id: args[0],
        status: STATUSES[kind],
        coupons: said.options.coupons,
        meta_data: said.options.meta_data,
      };
      afterVisits(function () {
        if (!tap.vid && !hasCoupon(told)) return answer(said.callback, null, null);
        send("customer", whole(told, said.options), said.callback);
      });
    };
  }

  function getTrackingId(args) {
    var said = sorted(args);
    afterVisits(function () {
      answer(said.callback, tap.vid || null);
    });
  }

  // What is told to the server.

  function whole(told, options) {
    told.account = account;
    told.vid = tap.vid || undefined;
    told.program_group = options.program_group || settings.program_group;
    return told;
  }

  function hasCoupon(told) {
    return /\S/.test([].concat(told.coupons || []).join(""));
  }

  /* The affiliate's link that led here, if one did; a referral code comes first. */
  function linkOf(options) {
    var parameter = options.referral_code_param || "ref";
    var code = sound(options.referral_code || query.get(parameter));
    var asset = query.get("tap_a");
    var source = query.get("tap_s");
    if (!code && !(asset && source)) return null;
    return {
      referral_code: code || undefined,
      asset_id: code ? undefined : asset,
      source_id: code ? undefined : source,
      landing_page: window.location.href,
      referrer: document.referrer || undefined,
      meta_data: subValues(),
    };
  }

  /* NUL is no text to the server. */
  function sound(text) {
    return text && text.indexOf("\0") < 0 ? text : null;
  }

  /* `tm_<name>=<value>`; what the server would refuse is dropped. */
  function subValues() {
    var found = {};
    query.forEach(function (value, parameter) {
      var key = parameter.slice(SUB_VALUE.length);
      var fits =
        key.length <= LONGEST_KEY &&
        value.length <= LONGEST_VALUE &&
        (key + value).indexOf("\0") < 0;
      var isFull = Object.keys(found).length >= MOST_SUB_VALUES && !(key in found);
      if (parameter.indexOf(SUB_VALUE) || !key || isFull) return;
      if (fits && !ODD_IN_KEY.test(key)) found[key] = value;
    });
    return found;
  }

  function afterVisits(act) {
    if (visits) waiting.push(act);
    else act();
  }

  /* Text, so that no browser asks for permission first; kept alive over a click away. */
  function send(call, told, callback) {
    if (isTest) {
      if (window.console) window.console.log("tap: " + call, told);
      return answer(callback, null, null);
    }
    if (!account) return answer(callback, new Error("tap: create comes first"), null);
    try {
      post(server + "/track/" + call + "/", JSON.stringify(told), callback);
    } catch (error) {
      answer(callback, error, null);
    }
  }

  function post(address, body, callback) {
    window
      .fetch(address, {
        method: "POST",
        body: body,
        headers: { "Content-Type": "text/plain" },
        credentials: "omit",
        keepalive: body.length < LONGEST_KEPT_ALIVE,
      })
      .then(function (response) {
        if (!response.ok) throw new Error("tap: the server said " + response.status);
        return response.status === 204 ? null : response.json();
      })
      .then(
        function (content) {
          answer(callback, null, content);
        },
        function (error) {
          answer(callback, error, null);
        }
      );
  }

  /* The page's own function may fail without stopping what waits behind it. */
  function answer(callback, first, second) {
    attempt(function () {
      if (callback) callback(first, second);
    });
  }

  // The tracking id.

  function know(vid) {
    tap.vid = vid;
    tap.vids = vid ? [vid] : [];
  }

  function readCookie() {
    var match = document.cookie.match("(?:^|; )" + COOKIE + "=([0-9a-f]+)");
    return match ? match[1] : null;
  }

  /* A cookie of a wider or narrower domain would hide the new one. */
  function dropCookies() {
    var gone = COOKIE + "=; path=/; max-age=0";
    var host = window.location.hostname;
    document.cookie = gone;
    while (host) {
      document.cookie = gone + "; domain=" + host;
      host = host.split(".").slice(1).join(".");
    }
  }

  function keepCookie(vid, domain) {
    if (settings.cookie === false) return;
    dropCookies();
    document.cookie =
      COOKIE + "=" + vid +
      "; path=/; SameSite=Lax; max-age=" + COOKIE_DAYS * 24 * 3600 +
      (domain ? "; domain=" + domain : "") +
      (window.location.protocol === "https:" ? "; Secure" : "");
  }

  // The page's queue: `create` first, then the others as they came.

  know(null);
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
